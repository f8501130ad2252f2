//! `journeyman tasks`: the built-in tasks and their preparation.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Subcommand;
use indicatif::ProgressBar;
use journeyman_schemas::{home, ids::TaskId};
use journeyman_tasks::{public::PublicTask, recipe};

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
}

/// `tasks ls` and `tasks prepare`.
pub(crate) fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Ls { directories, verify } if directories.names_data() => directories.ls(verify)?,
        Command::Ls { .. } => ls()?,
        Command::Prepare { names, all } => prepare(names, all)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Fails unless the task is prepared.
pub(crate) fn check(task: &TaskId) -> Result<()> {
    PublicTask::load(&home::tasks().join(task.as_str()))
        .map(drop)
        .map_err(|error| anyhow::Error::new(error).context(format!("run `journeyman tasks prepare {task}`")))
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

fn prepare(names: Vec<String>, all: bool) -> Result<()> {
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
    for name in names {
        let spinner = ProgressBar::new_spinner();
        let mut last = "";
        let directory = recipe::prepare(&name, &home::data_home(), &home::python(), &mut |progress| {
            last = progress.as_str();
            spinner.set_message(format!("task {name}: {last}"));
            spinner.tick();
        })?;
        spinner.finish_and_clear();
        println!("task {name}: {last} ({})", directory.display());
    }
    Ok(())
}
