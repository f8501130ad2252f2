//! `journeyman grade`: scores submissions to MLE-bench's competitions.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use journeyman_mle_bench::{
    competition,
    grade::{GradeError, Grading, Mode, Verdict, read_answers},
    leaderboard::Standings,
    report::{Aggregate, NotGraded, Report},
};
use journeyman_schemas::home;
use serde::Deserialize;

use crate::{grade_py, mle_bench};

#[derive(Args)]
pub(crate) struct Options {
    /// The competition's id.
    #[arg(long, required_unless_present = "jsonl", requires = "submission")]
    competition: Option<String>,
    /// The submission, a CSV file.
    #[arg(long, requires = "competition")]
    submission: Option<PathBuf>,
    /// Many at once: lines of {"competition_id": …, "submission_path": …}.
    #[arg(long, conflicts_with_all = ["competition", "submission", "answers"])]
    jsonl: Option<PathBuf>,
    /// Grade against this file, without a data directory.
    #[arg(long)]
    answers: Option<PathBuf>,
    /// `compat` is MLE-bench to the last digit; `strict` also wants every id once and a finite score.
    #[arg(long, value_enum, default_value_t = ModeName::Compat)]
    mode: ModeName,
    /// Add the unrounded score.
    #[arg(long)]
    raw: bool,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
    /// Run the competition's own grade.py where there is no native grader. This runs code of --mle-bench-repo with your
    /// rights.
    #[arg(long, requires = "mle_bench_repo")]
    run_grade_py: bool,
    /// The Python for --run-grade-py, with MLE-bench's requirements installed.
    #[arg(long)]
    python: Option<PathBuf>,
    #[command(flatten)]
    directories: mle_bench::Options,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum ModeName {
    Compat,
    Strict,
}

/// A line of the bulk form.
#[derive(Deserialize)]
struct Line {
    competition_id: String,
    /// null where an agent made no file.
    submission_path: Option<String>,
}

/// `grade`. The exit code says whether there is a score; in the bulk form, whether every line has a report.
pub(crate) async fn run(options: Options) -> Result<ExitCode> {
    if let Some(path) = &options.jsonl {
        return bulk(&options, path).await;
    }
    let (Some(id), Some(submission)) = (&options.competition, &options.submission) else {
        anyhow::bail!("name --competition and --submission, or --jsonl");
    };
    let report = one(&options, id, submission).await?;
    if options.json {
        print_json(&report)?;
    } else {
        print(&report);
    }
    Ok(ExitCode::from(u8::from(!report.valid_submission)))
}

async fn bulk(options: &Options, path: &Path) -> Result<ExitCode> {
    let text = std::fs::read_to_string(path).with_context(|| format!("can't read `{}`", path.display()))?;
    let (mut reports, mut not_graded) = (Vec::new(), Vec::new());
    for (place, text) in text.lines().enumerate() {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') || text.starts_with("//") {
            continue;
        }
        let mut fail = |competition_id, reason: String| {
            not_graded.push(NotGraded {
                line: place + 1,
                competition_id,
                reason,
            });
        };
        let line: Line = match serde_json::from_str(text) {
            Ok(line) => line,
            Err(error) => {
                fail(
                    None,
                    format!("it is not {{\"competition_id\": …, \"submission_path\": …}}: {error}"),
                );
                continue;
            }
        };
        let submission = PathBuf::from(line.submission_path.unwrap_or_else(|| "None".to_owned()));
        match one(options, &line.competition_id, &submission).await {
            Ok(report) => reports.push(report),
            Err(error) => fail(Some(line.competition_id), format!("{error:#}")),
        }
    }
    let aggregate = Aggregate::new(reports, not_graded);
    if options.json {
        print_json(&aggregate)?;
    } else {
        for report in &aggregate.competition_reports {
            print(report);
        }
        for line in &aggregate.not_graded {
            println!("line {}: {}", line.line, line.reason);
        }
        println!(
            "{} runs, {} with a file, {} valid, {} medals ({} gold, {} silver, {} bronze), {} above the median, {} not graded",
            aggregate.total_runs,
            aggregate.total_runs_with_submissions,
            aggregate.total_valid_submissions,
            aggregate.total_medals,
            aggregate.total_gold_medals,
            aggregate.total_silver_medals,
            aggregate.total_bronze_medals,
            aggregate.total_above_median,
            aggregate.not_graded.len()
        );
    }
    Ok(ExitCode::from(u8::from(!aggregate.not_graded.is_empty())))
}

async fn one(options: &Options, id: &str, submission: &Path) -> Result<Report> {
    let facts = competition::find(id).ok_or_else(|| GradeError::Unknown { id: id.to_owned() })?;
    ensure!(
        options.answers.is_some() || options.directories.names_data(),
        "name the answers with --answers, or the data with --mle-bench-data or --dojo"
    );
    let prepared = match options.directories.names_data() {
        true => Some(options.directories.directories().load(facts)),
        false => None,
    };
    let (answers, boards, sample_submission) = match (prepared, &options.answers) {
        (Some(Ok(prepared)), answers) => (
            answers.clone().unwrap_or(prepared.answers),
            prepared.boards,
            prepared.sample_submission,
        ),
        // With answers of their own, a competition need not be prepared.
        (_, Some(answers)) => (answers.clone(), Vec::new(), None),
        (Some(Err(error)), None) => return Err(error.into()),
        (None, None) => anyhow::bail!("name the answers with --answers"),
    };
    let mut grading = Grading {
        competition: facts,
        answers: Default::default(),
        standings: Standings::new(facts, boards),
        sample_submission,
    };
    let verdict = if let (Err(_), true, Some(repo)) =
        (grading.check(), options.run_grade_py, options.directories.repo())
    {
        let python = options.python.clone().unwrap_or_else(home::python);
        let verdict = grade_py::run(&python, repo, id, submission, &answers).await?;
        match verdict {
            Verdict::Valid(score) if options.mode == ModeName::Strict && !score.raw().is_finite() => {
                Verdict::Invalid(format!("the score is {}", score.raw()))
            }
            verdict => verdict,
        }
    } else {
        grading.check()?;
        grading.answers = read_answers(&answers)?;
        let mode = match options.mode {
            ModeName::Compat => Mode::Compat,
            ModeName::Strict => Mode::Strict,
        };
        grading.verdict(submission, mode)
    };
    let now = chrono::Local::now().format("%Y-%m-%dT%H:%M:%S%.6f").to_string();
    Ok(grading.report(submission, &verdict, now, options.raw))
}

/// Fails, rather than panics, if whoever reads it stops early.
fn print_json(value: &impl serde::Serialize) -> Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(())
}

fn print(report: &Report) {
    let id = &report.competition_id;
    match (report.score, &report.reason) {
        (Some(score), _) => {
            let medal = match (report.gold_medal, report.silver_medal, report.bronze_medal) {
                (true, _, _) => "gold medal",
                (_, true, _) => "silver medal",
                (_, _, true) => "bronze medal",
                _ => "no medal",
            };
            let median = if report.above_median { "above" } else { "not above" };
            let raw = report
                .score_raw
                .map(|raw| format!(" ({raw:?} unrounded)"))
                .unwrap_or_default();
            println!(
                "{id}: {score}{raw}, {medal}, {median} the median of {}",
                report.median_threshold
            );
            if let Some(scales) = &report.scales {
                for (name, value) in [
                    ("normalised, worst team 0, best 100", scales.normalised),
                    ("share of teams that it equals or beats", scales.human_rank),
                    ("sample submission 0, best known score 1", scales.above_sample),
                ] {
                    if let Some(value) = value {
                        println!("  {name}: {value:.4}");
                    }
                }
            }
        }
        (None, reason) => {
            let valid = if report.valid_submission {
                "no finite score"
            } else {
                "invalid"
            };
            println!(
                "{id}: {valid}: {} ({})",
                reason.as_deref().unwrap_or("no reason"),
                report.submission_path
            );
        }
    }
}
