//! Our side as a process of its own, fed by standard input as the peer is: what it does to a submission is what the
//! grader service does, `GradingTask::grade`, or what `journeyman grade` does in the mode that repeats MLE-bench.
//!
//! Commands are lines of JSON: `{"op": "load", "task": DIR}` and then `{"op": "grade", "submission": PATH}`, which answers
//! `{"reward": …, "report": …}`; or `{"op": "load_compat", "competition": ID, "answers": PATH}` and then
//! `{"op": "grade", …}`, which answers `{"score": …}`.

use std::{
    io::{BufRead, Write},
    path::{Path, PathBuf},
};

use anyhow::Context;
use journeyman_mle_bench::{
    competition::find,
    grade::{Grading, Mode, read_answers},
    leaderboard::Standings,
};
use journeyman_tasks::{grading::GradingTask, submission::read_file};
use serde::Deserialize;
use serde_json::{Value, json};

/// As large as a blob can be.
const LIMIT: u64 = 64 * 1024 * 1024;

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Command {
    Load { task: PathBuf },
    LoadCompat { competition: String, answers: PathBuf },
    Grade { submission: PathBuf },
}

/// What submissions are graded for.
enum Loaded {
    Task(Box<GradingTask>),
    Competition(Grading<'static>),
}

impl Loaded {
    fn grade(&self, submission: &Path) -> anyhow::Result<Value> {
        match self {
            Loaded::Task(task) => {
                let graded = task.grade(&read_file(submission, LIMIT)?)?;
                Ok(json!({ "reward": graded.reward_half, "report": graded.report_half }))
            }
            Loaded::Competition(grading) => {
                let verdict = grading.verdict(submission, Mode::Compat);
                let score = verdict
                    .score()
                    .with_context(|| format!("no score: {verdict:?}"))?;
                Ok(json!({ "score": score.raw() }))
            }
        }
    }
}

/// Works until the end of standard input.
///
/// # Errors
/// A command that can't be read or done.
pub fn work() -> anyhow::Result<()> {
    let mut output = std::io::stdout();
    let mut answer = move |value: &Value| writeln!(output, "{value}").and_then(|()| output.flush());
    answer(&json!({ "journeyman": env!("CARGO_PKG_VERSION") }))?;
    let mut loaded = None;
    for line in std::io::stdin().lock().lines() {
        match serde_json::from_str(&line?)? {
            Command::Load { task: dir } => {
                loaded = Some(Loaded::Task(Box::new(GradingTask::load(&dir)?)));
                answer(&json!({}))?;
            }
            Command::LoadCompat { competition, answers } => {
                let competition = find(&competition).context("an unknown competition")?;
                loaded = Some(Loaded::Competition(Grading {
                    competition,
                    answers: read_answers(&answers)?,
                    standings: Standings::new(competition, Vec::new()),
                    sample_submission: None,
                }));
                answer(&json!({}))?;
            }
            Command::Grade { submission } => {
                let loaded = loaded.as_ref().context("no task is loaded")?;
                answer(&loaded.grade(&submission)?)?;
            }
        }
    }
    Ok(())
}
