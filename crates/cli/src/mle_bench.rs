//! Where MLE-bench's and MLE-Dojo's data lie, and the list of what is there.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use journeyman_mle_bench::{competition, data::Directories, graders::grader};

/// Directories of other benchmarks.
#[derive(Args, Clone, Default)]
pub(crate) struct Options {
    /// MLE-bench's data directory, as `mlebench prepare` makes it.
    #[arg(long, value_name = "DIR")]
    mle_bench_data: Option<PathBuf>,
    /// A checkout of MLE-bench's repository: configuration, descriptions, leaderboards, checksums.
    #[arg(long, value_name = "DIR")]
    mle_bench_repo: Option<PathBuf>,
    /// MLE-Dojo's data directory.
    #[arg(long, value_name = "DIR")]
    dojo: Option<PathBuf>,
}

impl Options {
    pub(crate) fn directories(&self) -> Directories {
        Directories {
            data: self.mle_bench_data.clone(),
            repo: self.mle_bench_repo.clone(),
            dojo: self.dojo.clone(),
        }
    }

    /// MLE-bench's repository, if named.
    pub(crate) fn repo(&self) -> Option<&PathBuf> {
        self.mle_bench_repo.as_ref()
    }

    /// Whether a data directory is named.
    pub(crate) fn names_data(&self) -> bool {
        self.mle_bench_data.is_some() || self.dojo.is_some()
    }

    /// Prints the competitions that the directories have.
    pub(crate) fn ls(&self, verify: bool) -> Result<()> {
        for directory in [&self.mle_bench_data, &self.mle_bench_repo, &self.dojo]
            .into_iter()
            .flatten()
        {
            ensure!(directory.is_dir(), "`{}` is not a directory", directory.display());
        }
        let directories = self.directories();
        println!(
            "{:<58} {:<7} {:<22} {:<7} state",
            "competition", "split", "metric", "grader"
        );
        for id in directories.ids() {
            let Some(facts) = competition::find(&id) else {
                println!(
                    "{id:<58} {:<7} {:<22} {:<7} not one of MLE-bench's competitions",
                    "-", "-", "-"
                );
                continue;
            };
            let state = match directories.load(facts) {
                Err(error) => error.to_string(),
                Ok(prepared) => {
                    let mut notes = prepared.notes;
                    if prepared.sample_submission.is_none() {
                        notes.push("no sample submission in public/".to_owned());
                    }
                    if verify {
                        match directories.verify(facts) {
                            Ok(differences) if differences.is_empty() => {
                                notes.push("checksums are right".to_owned())
                            }
                            Ok(differences) => notes.extend(differences),
                            Err(error) => notes.push(error.to_string()),
                        }
                    }
                    notes.insert(0, "prepared".to_owned());
                    notes.join("; ")
                }
            };
            let native = if grader(&id).is_some() { "native" } else { "python" };
            println!(
                "{id:<58} {:<7} {:<22} {native:<7} {state}",
                facts.split, facts.metric
            );
        }
        Ok(())
    }
}
