//! Tasks: what a model is shown of them, how a submission is read and scored, and how the built-in ones are made.
//!
//! A prepared task is a directory in the layout of MLE-bench:
//!
//! ```text
//! <tasks>/<id>/prepared/task.toml              what the task is: definition::Definition
//! <tasks>/<id>/prepared/starter.py             the program that a model goes on from
//! <tasks>/<id>/prepared/checksums.json         hashes of everything else, and of the recipe
//! <tasks>/<id>/prepared/public/                what programs may read, mounted at ./data
//!     train.csv test.csv sample_submission.csv description.md
//! <tasks>/<id>/prepared/private/               mode 700, for the grader alone
//!     answers.csv                              in the form of the sample submission
//!     halves.csv                               for each id, whether it counts for `reward` or for `report`
//! ```
//!
//! [`public::PublicTask`] never opens `private/`; [`grading::GradingTask`] does, and only the grader loads it.

pub mod definition;
pub mod excerpt;
pub mod grading;
pub mod ladder;
pub mod lint;
pub mod new;
mod predictions;
pub mod public;
pub mod recipe;
pub mod shelf;
pub mod snippet;
pub mod submission;

use std::path::PathBuf;

/// Why a task can't be loaded.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// A file that every prepared task has is missing or unreadable.
    #[error("task `{task}`: can't read `{}`; `journeyman tasks prepare {task}` makes it", path.display())]
    Read {
        /// Name of the task's directory.
        task: String,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// `task.toml` is not in its format.
    #[error("task `{task}`: `{}` is not a task definition", path.display())]
    Definition {
        /// Name of the task's directory.
        task: String,
        /// The file.
        path: PathBuf,
        /// Line and what is allowed there.
        source: Box<toml::de::Error>,
    },
    /// A file is there, but its content breaks a rule.
    #[error("task `{task}`: `{}`: {problem}", path.display())]
    Content {
        /// Name of the task's directory.
        task: String,
        /// The file.
        path: PathBuf,
        /// What is wrong: names the field, the value and what is allowed.
        problem: String,
    },
}
