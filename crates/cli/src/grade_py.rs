//! Runs a competition's own `grade.py`, for the few without a native grader.
//!
//! This trusts the repository: its code runs with the rights of whoever calls the command, so it is an option that
//! must be asked for. It has a time limit, and no other.

use std::{path::Path, process::Stdio, time::Duration};

use anyhow::{Context, Result, bail};
use journeyman_mle_bench::{
    grade::{Verdict, read_submission},
    score::Score,
};
use serde::Deserialize;
use tokio::{process::Command, time::timeout};

/// Longest time that a grader may take.
const LIMIT: Duration = Duration::from_secs(600);

/// Arguments: repository, competition, submission, answers. The last line that it prints is the outcome.
const PROGRAM: &str = r#"
import importlib, json, sys
from pathlib import Path
repo, competition, submission, answers = sys.argv[1:]
sys.path.insert(0, repo)
from mlebench.utils import load_answers, load_yaml, read_csv
config = load_yaml(Path(repo) / "mlebench" / "competitions" / competition / "config.yaml")
module, function = config["grader"]["grade_fn"].split(":")
grade = getattr(importlib.import_module(module), function)
true = load_answers(Path(answers))
try:
    score = grade(read_csv(submission), true)
    outcome = {"score": repr(float(score)), "is_numpy": type(score).__module__ == "numpy"}
except Exception as error:
    outcome = {"error": f"{type(error).__name__}: {error}"}
print("\n" + json.dumps(outcome))
"#;

#[derive(Deserialize)]
#[serde(untagged)]
enum Outcome {
    Score { score: String, is_numpy: bool },
    Error { error: String },
}

/// Scores a file with the grader of `repo`; fails if that can't be run at all.
pub(crate) async fn run(
    python: &Path,
    repo: &Path,
    id: &str,
    submission: &Path,
    answers: &Path,
) -> Result<Verdict> {
    // What makes a file missing or unreadable is found without Python.
    if let Err(verdict) = read_submission(submission) {
        return Ok(verdict);
    }
    let child = Command::new(python)
        .arg("-c")
        .arg(PROGRAM)
        .args([
            repo.as_os_str(),
            id.as_ref(),
            submission.as_os_str(),
            answers.as_os_str(),
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("can't start `{}`; name a Python with --python", python.display()))?;
    let Ok(output) = timeout(LIMIT, child.wait_with_output()).await else {
        bail!("grade.py of `{id}` ran longer than {} s", LIMIT.as_secs());
    };
    let output = output?;
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(outcome) = text
        .lines()
        .last()
        .and_then(|line| serde_json::from_str(line).ok())
    else {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!(
            "grade.py of `{id}` can't be run; install MLE-bench's requirements into `{}`: {}",
            python.display(),
            errors.lines().last().unwrap_or_default()
        );
    };
    Ok(match outcome {
        Outcome::Error { error } => Verdict::Invalid(error),
        Outcome::Score { score, is_numpy } => {
            let value: f64 = score.parse().context("grade.py gave a score that is no number")?;
            Verdict::Valid(if is_numpy {
                Score::Numpy(value)
            } else {
                Score::Python(value)
            })
        }
    })
}

#[cfg(test)]
mod tests;
