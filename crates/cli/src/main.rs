//! The `journeyman` command: the whole system on one machine, and a look into a running one.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command that people read"
)]

mod chart;
mod doctor;
mod grade;
mod grade_py;
mod mle_bench;
mod models;
mod run_config;
mod stack;
mod status;
mod tasks;
mod train;
mod up;
mod view;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "journeyman",
    version,
    about = "Trains small language models to do machine-learning engineering"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start NATS, Redis and all services on this machine; Ctrl-C stops all of it.
    Up(up::Options),
    /// Train a policy as a TOML file says; run it again to go on after a stop.
    Train(train::Options),
    /// What every service and run is doing.
    Status {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check this machine and say what to do about what is missing.
    Doctor,
    /// The models that Journeyman knows.
    Models {
        #[command(subcommand)]
        command: models::Command,
    },
    /// The built-in tasks, and tasks of one's own.
    Tasks {
        #[command(subcommand)]
        command: tasks::Command,
    },
    /// Score a submission to one of MLE-bench's competitions, or many.
    Grade(Box<grade::Options>),
    /// Draw a run's chart from its `metrics.jsonl`.
    Chart {
        /// The file.
        metrics: PathBuf,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("journeyman: can't start: {error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(run(arguments.command)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("journeyman: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Up(options) => up::run(options).await,
        Command::Train(options) => train::run(options).await,
        Command::Status { json } => status::run(json).await,
        Command::Doctor => doctor::run().await,
        Command::Models { command } => models::run(command),
        Command::Tasks { command } => tasks::run(command),
        Command::Grade(options) => grade::run(*options).await,
        Command::Chart { metrics } => chart::run(&metrics),
    }
}
