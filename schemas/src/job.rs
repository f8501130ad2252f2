//! The jobs of a rollout, stage by stage. Bulk (tokens, programs, outputs, files) travels by content hash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Job, Stage,
    execution::{Execution, Limits, Marker, Nonce, NotRun},
    generate::Sampling,
    ids::{ContentHash, ModelId, TaskId},
    reward::RewardRule,
};

/// What every job of a rollout carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// The task.
    pub task: TaskId,
    /// Which model is being trained.
    pub policy: Policy,
    /// Policy version at dispatch: how many adapters the run had published.
    pub policy_version: u64,
    /// What the policy is shown.
    pub state: State,
    /// How the end is turned into a reward.
    pub reward: RewardRule,
    /// The policy's own completion (JSON of [`Completion`]), once it has been drawn.
    pub completion: Option<ContentHash>,
    /// Whether the rollout only fills the state pool and is not trained on.
    pub collect: bool,
}

/// The model being trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Writes programs (RL4MLE).
    Implementer,
    /// Writes ideas (MLE-Ideator).
    Ideator,
}

/// What the policy is shown. All rollouts of a group share it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The task alone.
    Scratch,
    /// The task with an earlier solution.
    Improve(Solution),
}

/// An earlier solution: its program, what it printed and how it scored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Solution {
    /// The program as the policy wrote it (without markers).
    pub program: ContentHash,
    /// What it printed, markers stripped; none when it never ran.
    pub output: Option<ContentHash>,
    /// Score on the reward half in the task's metric; none when invalid.
    pub score: Option<f64>,
}

/// A policy's completion, stored under its hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Completion {
    /// The base model.
    pub model: ModelId,
    /// The adapter that drew it, as the server stamped it.
    pub adapter: Option<ContentHash>,
    /// The prompt.
    pub prompt_token_ids: Vec<u32>,
    /// The drawn ids.
    pub token_ids: Vec<u32>,
    /// Raw log-probability of each drawn id.
    pub logprobs: Vec<f32>,
    /// Whether it was cut by its length limit.
    pub truncated: bool,
    /// The completion as text.
    pub text: String,
    /// How it was drawn.
    pub sampling: Sampling,
}

/// Which weights draw a completion, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generation {
    /// The base model.
    pub model: ModelId,
    /// LoRA weights, none for the frozen base.
    pub adapter: Option<ContentHash>,
    /// Sampling parameters.
    pub sampling: Sampling,
}

/// Write an idea for a state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdeateJob {
    /// The rollout's work.
    pub work: Work,
    /// How the idea is drawn.
    pub generation: Generation,
    /// How the frozen implementer carries it out.
    pub implement: Generation,
    /// Limits of the program's execution.
    pub limits: Limits,
    /// How progress markers are added.
    pub instrument: InstrumentRule,
}

/// Write a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImplementJob {
    /// The rollout's work.
    pub work: Work,
    /// How the program is drawn.
    pub generation: Generation,
    /// An ideator's idea to carry out (JSON of [`Idea`](crate::ideate::Idea)).
    pub idea: Option<ContentHash>,
    /// Limits of the program's execution.
    pub limits: Limits,
    /// How progress markers are added.
    pub instrument: InstrumentRule,
}

/// How progress markers are added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InstrumentRule {
    /// The frozen model that proposes where markers go; none = from the syntax tree only.
    pub model: Option<ModelId>,
    /// Share of programs, 0 to 1, for which the model is asked.
    pub model_share: f64,
}

/// Add progress markers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InstrumentJob {
    /// The rollout's work.
    pub work: Work,
    /// The program as written.
    pub program: ContentHash,
    /// How.
    pub instrument: InstrumentRule,
    /// Limits of its execution.
    pub limits: Limits,
}

/// Run a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecuteJob {
    /// The rollout's work.
    pub work: Work,
    /// The program as written.
    pub program: ContentHash,
    /// The program with markers, which is what runs.
    pub instrumented: ContentHash,
    /// The secret word of this execution's markers.
    pub nonce: Nonce,
    /// Markers that were put in, in the order in which they count.
    pub markers: Vec<Marker>,
    /// Limits.
    pub limits: Limits,
}

/// Score an execution and commit the reward.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GradeJob {
    /// The rollout's work.
    pub work: Work,
    /// The program as written; none when there was none.
    pub program: Option<ContentHash>,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It never ran.
    NotRun(NotRun),
    /// It ran.
    Ran(Box<Execution>),
}

impl Job for IdeateJob {
    const STAGE: Stage = Stage::Ideate;
}
impl Job for ImplementJob {
    const STAGE: Stage = Stage::Implement;
}
impl Job for InstrumentJob {
    const STAGE: Stage = Stage::Instrument;
}
impl Job for ExecuteJob {
    const STAGE: Stage = Stage::Execute;
}
impl Job for GradeJob {
    const STAGE: Stage = Stage::Grade;
}
