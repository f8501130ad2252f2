//! What a run tells those who watch it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{ContentHash, RunId, TaskId};

/// Where a run stands; the trainer keeps it in Redis, the `journeyman` command shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunProgress {
    /// The run.
    pub run: RunId,
    /// Its task.
    pub task: TaskId,
    /// What it is doing.
    pub phase: RunPhase,
    /// Steps done.
    pub step: u64,
    /// Steps in all.
    pub steps: u64,
    /// Groups of the present step that ended, and their number.
    pub groups_done: u64,
    /// Groups of the present step.
    pub groups: u64,
    /// Rollouts of the present step that ended.
    pub rollouts_done: u64,
    /// Rollouts of the present step.
    pub rollouts: u64,
    /// Last step's line of `metrics.jsonl`.
    pub last: Option<StepMetrics>,
    /// Directory of the run's files.
    pub directory: String,
    /// When this was written, milliseconds since the Unix epoch.
    pub updated_ms: i64,
}

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunPhase {
    /// Loading the model.
    Starting,
    /// Filling the state pool (policy = ideator).
    Collecting,
    /// Waiting for rollouts.
    Rollouts,
    /// Updating the policy.
    Updating,
    /// All steps done.
    Done,
    /// Gave up; the reason is in the log.
    Failed,
}

/// One line of `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepMetrics {
    /// Step number, from 1.
    pub step: u64,
    /// Rollouts that ended with a reward.
    pub rollouts: u64,
    /// Rollouts without a reward (failed, expired).
    pub rollouts_lost: u64,
    /// Share of rollouts with a valid submission.
    pub valid_share: f64,
    /// Mean score of valid submissions on the reward half, in the task's metric.
    pub score_mean: Option<f64>,
    /// Best of them.
    pub score_best: Option<f64>,
    /// Mean reward.
    pub reward_mean: f64,
    /// Mean markers reached.
    pub markers_mean: f64,
    /// Completion tokens trained on.
    pub tokens: u64,
    /// Mean completion length, tokens.
    pub completion_tokens_mean: f64,
    /// Share of completions cut by their length limit.
    pub truncated_share: f64,
    /// Seconds of the whole step.
    pub seconds: f64,
    /// Seconds from dispatch to the last reward.
    pub rollout_seconds: f64,
    /// Seconds of the update.
    pub update_seconds: f64,
    /// Policy version that was trained, and the adapter's hash after the step.
    pub policy_version: u64,
    /// Adapter after the step.
    pub policy: ContentHash,
    /// Largest |log-prob(sampler) − log-prob(trainer)| before the update.
    pub mismatch_max: f64,
    /// Mean of the same.
    pub mismatch_mean: f64,
    /// Mean k3 estimate of the KL between sampler and trainer.
    pub mismatch_k3: f64,
    /// Largest staleness, in policy versions.
    pub staleness_max: u64,
    /// Groups that were asked to improve an earlier solution.
    pub groups_improve: u64,
    /// Groups whose advantages are all zero, which are skipped.
    pub groups_skipped: u64,
    /// Loss.
    pub loss: f64,
    /// Global gradient norm before clipping.
    pub grad_norm: f64,
    /// Learning rate.
    pub learning_rate: f64,
    /// Mean entropy of the sampler's distributions, nats.
    pub entropy_mean: f64,
    /// Share of tokens whose ratio was clipped.
    pub clip_fraction: f64,
    /// Mean execution time, wall-clock seconds.
    pub execution_seconds_mean: f64,
}
