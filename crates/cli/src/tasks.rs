//! `journeyman tasks`: the built-in tasks, their preparation, and tasks of one's own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use journeyman_schemas::{home, ids::TaskId};
use journeyman_tasks::{
    definition::Metric,
    lint, new,
    public::PublicTask,
    recipe::{self, Progress},
};

use crate::mle_bench;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List them, or the prepared competitions of MLE-bench or MLE-Dojo.
    Ls {
        #[command(flatten)]
        directories: mle_bench::Options,
        /// Compare MLE-bench's files with their checksums.
        #[arg(long)]
        verify: bool,
    },
    /// Fetch a task's data and split it; done already is skipped.
    Prepare {
        /// Their names.
        names: Vec<String>,
        /// All of them.
        #[arg(long)]
        all: bool,
    },
    /// Look for leaks and mistakes in prepared tasks; exit code 1 if there are any.
    Lint {
        /// Names of prepared tasks, or task directories.
        #[arg(required = true)]
        tasks: Vec<String>,
    },
    /// Make a task out of a table of one's own.
    New(New),
    /// Print the built-in tasks with the scores and times of their reference programs.
    Ladder,
}

#[derive(Args)]
pub(crate) struct New {
    /// Name of the task: small letters, digits and hyphens.
    name: String,
    /// The table: a CSV file with a header, one row per example.
    #[arg(long, value_name = "CSV")]
    from: PathBuf,
    /// The column to predict; for auc_mean give it several times.
    #[arg(long, value_name = "COLUMN", required = true)]
    target: Vec<String>,
    /// How predictions are scored.
    #[arg(long, value_parser = metric)]
    metric: Metric,
    /// The column that names each row; rows are numbered without it.
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
}

/// `tasks ls`, `prepare`, `lint`, `new` and `ladder`.
pub(crate) fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Ls { directories, verify } if directories.names_data() => directories.ls(verify)?,
        Command::Ls { .. } => ls()?,
        Command::Prepare { names, all } => return prepare(names, all),
        Command::Lint { tasks } => return lint_all(&tasks),
        Command::New(options) => make(options)?,
        Command::Ladder => print!("{}", recipe::ladder_table()?),
    }
    Ok(ExitCode::SUCCESS)
}

/// Fails unless the task is prepared.
pub(crate) fn check(task: &TaskId) -> Result<()> {
    PublicTask::load(&home::tasks().join(task.as_str()))
        .map(drop)
        .map_err(|error| anyhow::Error::new(error).context(format!("run `journeyman tasks prepare {task}`")))
}

fn metric(word: &str) -> Result<Metric, String> {
    let known: Vec<&str> = Metric::ALL.iter().map(|metric| metric.as_str()).collect();
    Metric::ALL
        .into_iter()
        .find(|metric| metric.as_str() == word)
        .ok_or_else(|| format!("there is no such metric; there are {}", known.join(", ")))
}

fn ls() -> Result<()> {
    println!("{:<16} {:<10} {:<9} what", "task", "metric", "prepared");
    for recipe in recipe::RECIPES {
        let definition = recipe.definition()?;
        let prepared = if check(&definition.id).is_ok() {
            "yes"
        } else {
            "no"
        };
        println!(
            "{:<16} {:<10} {prepared:<9} {}",
            definition.id,
            definition.metric.as_str(),
            definition.name
        );
    }
    Ok(())
}

/// Prepares one task after the other; one that fails does not keep the others from it.
fn prepare(names: Vec<String>, all: bool) -> Result<ExitCode> {
    let names = if all {
        recipe::RECIPES
            .iter()
            .map(|recipe| recipe.id.to_owned())
            .collect()
    } else {
        names
    };
    ensure!(
        !names.is_empty(),
        "name a task, or say --all; `journeyman tasks ls` lists them"
    );
    let bar = steps(names.len() as u64 * Progress::STEPS);
    let mut failed = Vec::new();
    for (done, name) in names.iter().enumerate() {
        let mut last = "";
        let result = recipe::prepare(name, &home::data_home(), &home::python(), &mut |progress| {
            last = progress.as_str();
            bar.set_message(format!("task {name}: {last}"));
            bar.set_position(done as u64 * Progress::STEPS + progress.step());
        });
        bar.suspend(|| match &result {
            Ok(directory) => println!("task {name}: {last} ({})", directory.display()),
            Err(error) => eprintln!("task {name}: {}", chain(error)),
        });
        if result.is_err() {
            failed.push(name.as_str());
        }
    }
    bar.finish_and_clear();
    ensure!(
        failed.is_empty(),
        "{} of {} tasks are not prepared: {}; run it again, what is done is kept",
        failed.len(),
        names.len(),
        failed.join(", ")
    );
    Ok(ExitCode::SUCCESS)
}

fn steps(count: u64) -> ProgressBar {
    let bar = ProgressBar::new(count);
    match ProgressStyle::with_template("[{bar:30}] {elapsed} {msg}") {
        Ok(style) => bar.with_style(style),
        // The template is a constant that parses.
        Err(_) => bar,
    }
}

fn lint_all(tasks: &[String]) -> Result<ExitCode> {
    let mut count = 0;
    for task in tasks {
        let as_path = Path::new(task);
        let dir = if as_path.join("prepared").is_dir() {
            as_path.to_owned()
        } else {
            home::tasks().join(task)
        };
        let findings = lint::lint(&dir)?;
        for finding in &findings {
            println!("{task}: {finding}");
        }
        count += findings.len();
    }
    if count == 0 {
        println!("nothing to change in {}", tasks.join(", "));
        return Ok(ExitCode::SUCCESS);
    }
    Ok(ExitCode::FAILURE)
}

fn make(options: New) -> Result<()> {
    let wish = new::Wish {
        id: TaskId::new(options.name)?,
        targets: options.target,
        metric: options.metric,
        id_column: options.id,
    };
    let csv = fs::read(&options.from).with_context(|| format!("can't read `{}`", options.from.display()))?;
    let name = options
        .from
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let dir = new::create(&wish, &csv, &name, &home::tasks())?;
    println!("task {}: made ({})", wish.id, dir.display());
    for finding in lint::lint(&dir)? {
        println!("  to change: {finding}");
    }
    println!(
        "say what the data are in prepared/public/description.md, then set `task = \"{}\"` in a run",
        wish.id
    );
    Ok(())
}

/// An error with its causes.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
