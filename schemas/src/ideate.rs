//! `jm.ideate.<name>`: the swap point. Any program that answers this subject is an ideator.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Request, ideate_subject, ids::TaskId};

/// An implementer's call for help.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeekHelp {
    /// Which ideator, the last word of the subject.
    pub ideator: String,
    /// The task.
    pub task: TaskId,
    /// The task's description, as the implementer sees it.
    pub description: String,
    /// The implementer's present program.
    pub program: String,
    /// What it printed, markers stripped.
    pub output: String,
    /// Its score if it was valid, in the task's metric.
    pub score: Option<f64>,
    /// The question, in the implementer's words; may be empty.
    pub query: String,
    /// Ideas wanted, at least 1.
    pub n: u32,
}

impl Request for SeekHelp {
    const NAME: &'static str = "ideate";
    type Reply = Ideas;
    fn subject(&self) -> String {
        ideate_subject(&self.ideator)
    }
}

/// The ideator's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ideas {
    /// One entry per idea asked for that was well formed.
    pub ideas: Vec<Idea>,
}

/// An idea: what stands, what to do, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Idea {
    /// ANALYSIS_ON_CURRENT_PROGRESS.
    pub analysis: String,
    /// ACTION.
    pub action: String,
    /// RATIONALE.
    pub rationale: String,
}
