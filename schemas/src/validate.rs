//! `jm.validate`: is this submission well formed? The answer depends on public facts alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Request, VALIDATE_SUBJECT,
    ids::{ContentHash, TaskId},
};

/// Ask whether a submission has the form that its task wants. Refused as `busy` when its asker asks too often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Validate {
    /// The task.
    pub task: TaskId,
    /// Who asks, 1 to 64 characters; what is asked is counted by it, or by the envelope's run if that is named.
    pub asker: String,
    /// The bytes of `submission.csv`.
    pub submission: ContentHash,
}

impl Request for Validate {
    const NAME: &'static str = "validate";
    type Reply = Validated;
    fn subject(&self) -> String {
        VALIDATE_SUBJECT.to_owned()
    }
}

/// Whether a submission is well formed, and else what to change. No label, score or hidden half bears on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Validated {
    /// It would get a score.
    pub valid: bool,
    /// The kind of problem, a word such as `columns` or `values`; none when valid.
    pub kind: Option<String>,
    /// For people and models: what is wrong, where, and what to change.
    pub message: String,
}
