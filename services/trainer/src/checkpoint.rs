//! Checkpoints: one directory per step, whole or absent.
//!
//! `step-000004/` holds the adapter, the optimizer's moments and `state.json`, which names the SHA-256 of both.
//! The state file is written last, so a directory with a readable state is complete. The random generators are
//! counter-based (keyed by run seed and group number), so the state needs no generator of its own.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use journeyman_schemas::{ids::ContentHash, run::StepMetrics};
use serde::{Deserialize, Serialize};

use crate::files::write_durably;

/// Checkpoints kept; older ones are removed.
const KEPT: usize = 2;

/// What `state.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// Optimizer steps done, which is the policy version.
    pub step: u64,
    /// SHA-256 of the adapter file, which is the adapter's name.
    pub adapter: ContentHash,
    /// SHA-256 of the optimizer file.
    pub optimizer: ContentHash,
    /// Adapter of every policy version, from 0.
    pub versions: Vec<ContentHash>,
    /// Groups trained on, in order of consumption.
    pub consumed: Vec<u64>,
    /// One line per step.
    pub metrics: Vec<StepMetrics>,
}

/// A checkpoint read back.
#[derive(Debug)]
pub struct Checkpoint {
    /// The state.
    pub state: RunState,
    /// Adapter file (PEFT safetensors).
    pub adapter: Vec<u8>,
    /// Optimizer file.
    pub optimizer: Vec<u8>,
}

/// Why a checkpoint can't be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file system refused.
    #[error("can't {action} `{path}`")]
    Io {
        /// What was tried.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The directory holds checkpoints, but none is whole.
    #[error("no checkpoint in `{directory}` is whole: {problems}; move the directory away to start again")]
    NoneWhole {
        /// Where.
        directory: PathBuf,
        /// What is wrong with each.
        problems: String,
    },
}

/// Writes the checkpoint of `state` and removes old ones.
pub fn save(
    directory: &Path,
    state: &RunState,
    adapter: &[u8],
    optimizer: &[u8],
) -> Result<(), CheckpointError> {
    let path = directory.join(format!("step-{:06}", state.step));
    let io = |action, path: &Path| {
        let path = path.to_owned();
        move |source| CheckpointError::Io { action, path, source }
    };
    fs::create_dir_all(&path).map_err(io("create", &path))?;
    let manifest = serde_json::to_vec_pretty(state).map_err(|error| io("write", &path)(error.into()))?;
    for (name, bytes) in [
        ("adapter.safetensors", adapter),
        ("optimizer.bin", optimizer),
        ("state.json", &manifest),
    ] {
        let file = path.join(name);
        write_durably(&file, bytes).map_err(io("write", &file))?;
    }
    let steps = list(directory)?;
    for old in steps.iter().rev().skip(KEPT) {
        fs::remove_dir_all(old).map_err(io("remove", old))?;
    }
    Ok(())
}

/// The newest whole checkpoint, none when there is no checkpoint at all.
pub fn load(directory: &Path) -> Result<Option<Checkpoint>, CheckpointError> {
    let mut problems = Vec::new();
    for path in list(directory)?.iter().rev() {
        match read(path) {
            Ok(checkpoint) => return Ok(Some(checkpoint)),
            Err(problem) => problems.push(format!("{}: {problem}", path.display())),
        }
    }
    if problems.is_empty() {
        return Ok(None);
    }
    // A crash during the very first save leaves a directory without a state: nothing is lost by beginning anew.
    if problems.len() == 1
        && !directory.join("step-000000/state.json").exists()
        && directory.join("step-000000").exists()
    {
        return Ok(None);
    }
    Err(CheckpointError::NoneWhole {
        directory: directory.to_owned(),
        problems: problems.join("; "),
    })
}

fn read(path: &Path) -> Result<Checkpoint, String> {
    let file = |name: &str| fs::read(path.join(name)).map_err(|error| format!("`{name}`: {error}"));
    let state: RunState = serde_json::from_slice(&file("state.json")?).map_err(|error| error.to_string())?;
    let adapter = file("adapter.safetensors")?;
    let optimizer = file("optimizer.bin")?;
    for (name, bytes, hash) in [
        ("adapter.safetensors", &adapter, &state.adapter),
        ("optimizer.bin", &optimizer, &state.optimizer),
    ] {
        if ContentHash::of(bytes) != *hash {
            return Err(format!("`{name}` does not have the hash in `state.json`"));
        }
    }
    Ok(Checkpoint {
        state,
        adapter,
        optimizer,
    })
}

fn list(directory: &Path) -> Result<Vec<PathBuf>, CheckpointError> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => {
            return Err(CheckpointError::Io {
                action: "list",
                path: directory.to_owned(),
                source,
            });
        }
    };
    let mut steps: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("step-"))
        })
        .collect();
    steps.sort();
    Ok(steps)
}

#[cfg(test)]
mod tests;
