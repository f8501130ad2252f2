//! Facts: published once, kept in a stream.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Event, Stage,
    ids::{ContentHash, ModelId, RolloutKey, RunId},
};

/// A group reached its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupEnded {
    /// The run.
    pub run: RunId,
    /// The group.
    pub group: u64,
    /// How.
    pub state: GroupState,
}

impl Event for GroupEnded {
    const NAME: &'static str = "reward";
    fn run(&self) -> &RunId {
        &self.run
    }
}

/// Where a group stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GroupState {
    /// Rollouts are under way.
    Open,
    /// Every rollout has a reward.
    Complete,
    /// Enough rollouts have a reward to train on.
    Partial,
    /// Too few have one.
    Failed,
    /// The deadline passed with too few.
    Expired,
}

impl GroupState {
    /// The word in Redis, reports and metric labels.
    pub fn as_str(self) -> &'static str {
        match self {
            GroupState::Open => "open",
            GroupState::Complete => "complete",
            GroupState::Partial => "partial",
            GroupState::Failed => "failed",
            GroupState::Expired => "expired",
        }
    }
}

/// A new policy version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdapterPublished {
    /// The run.
    pub run: RunId,
    /// Policy version, from 1; version 0 is the adapter at its start, which changes nothing.
    pub version: u64,
    /// Name in the object store bucket `adapters`.
    pub hash: ContentHash,
    /// The base model.
    pub model: ModelId,
    /// SHA-256 of the base model's file.
    pub base_sha256: String,
    /// LoRA rank.
    pub rank: u32,
    /// LoRA alpha; the scale is alpha / rank.
    pub alpha: f64,
    /// Linear kinds that it changes.
    pub targets: Vec<String>,
}

impl Event for AdapterPublished {
    const NAME: &'static str = "adapter";
    fn run(&self) -> &RunId {
        &self.run
    }
}

/// A job that was given up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetter {
    /// Which stage gave it up.
    pub stage: Stage,
    /// Which rollout.
    pub key: Option<RolloutKey>,
    /// Deliveries it had.
    pub attempt: u32,
    /// Why, for people.
    pub reason: String,
    /// The job's message as it was, for replay.
    pub message: serde_json::Value,
}

/// Stop work on a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cancel {
    /// The run.
    pub run: RunId,
    /// Why, for people.
    pub reason: String,
}
