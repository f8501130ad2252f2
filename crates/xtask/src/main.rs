//! Tasks of the people who build Journeyman: `cargo xtask setup | tidy | golden`.
#![expect(clippy::print_stdout, reason = "a command that people read")]

mod golden;
mod setup;
mod tidy;

use clap::{Parser, Subcommand};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install or check what Journeyman needs on this machine; what is there already is skipped.
    Setup {
        /// Also what only the tests need (promtool, compose and Kubernetes validators).
        #[arg(long)]
        tests: bool,
    },
    /// Check the rules of the code base that the compiler does not.
    Tidy,
    /// Write `schemas/golden/` and `schemas/json/` anew from the types.
    Golden,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().task {
        Task::Setup { tests } => setup::run(tests),
        Task::Tidy => tidy::run(),
        Task::Golden => golden::run(),
    }
}
