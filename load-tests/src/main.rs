//! Load tests: one subcommand per scenario, each a table of what was measured and what must hold.
//!
//! `cargo run --release -p journeyman-load-tests -- inference --url http://127.0.0.1:8000 --model NAME`
//! `cargo run --release -p journeyman-load-tests -- grader --python VENV/bin/python`

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use journeyman_load_tests::{grader, inference, report::Report};

/// Measures running services.
#[derive(Parser)]
#[command(name = "journeyman-load-tests", version)]
struct Arguments {
    #[command(subcommand)]
    scenario: Scenario,
}

#[derive(Subcommand)]
enum Scenario {
    /// Tokens per second of an OpenAI-compatible server, beside its peers.
    Inference {
        #[command(flatten)]
        options: inference::Options,
        #[command(flatten)]
        output: Output,
    },
    /// Gradings per second, beside pandas and scikit-learn.
    Grader {
        #[command(flatten)]
        options: grader::Options,
        #[command(flatten)]
        output: Output,
    },
    /// Our side of `grader`, fed by standard input.
    #[command(hide = true)]
    GraderWorker,
}

/// What becomes of the table.
#[derive(Args)]
struct Output {
    /// Write the rows to this file, too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Exit with status 1 if a `must` is not met.
    #[arg(long)]
    check: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    match Arguments::parse().scenario {
        Scenario::Inference { options, output } => finish(&inference::run(&options).await?, &output),
        Scenario::Grader { options, output } => finish(&grader::run(&options).await?, &output),
        Scenario::GraderWorker => grader::worker::work().map(|()| ExitCode::SUCCESS),
    }
}

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn finish(report: &Report, output: &Output) -> anyhow::Result<ExitCode> {
    print!("{report}");
    if let Some(path) = &output.json {
        let text = serde_json::to_string_pretty(report)?;
        std::fs::write(path, text + "\n")
            .with_context(|| format!("`{}` can't be written", path.display()))?;
    }
    let failed = output.check && !report.holds();
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
