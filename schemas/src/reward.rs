//! What a rollout earned, and how it ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Stage,
    execution::{IsolationLevel, NotRun, Verdict},
    ids::{ContentHash, RolloutKey},
    job::{Policy, Solution},
};

/// How an end is turned into a reward.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RewardRule {
    /// RL4MLE: `invalid` without a valid submission, else the score, sign turned for lower-is-better;
    /// `marker` for each marker reached.
    Score {
        /// −10 in the paper.
        invalid: f64,
        /// 0.1 in the paper.
        marker: f64,
    },
    /// MLE-Ideator: what carrying out the idea did to the score of the state's solution.
    Change {
        /// 1 if the score rose, else 0; or the signed difference.
        form: ChangeForm,
        /// For a badly formed idea, −1 in the paper.
        malformed: f64,
    },
    /// Like `Score`, with the share of the task's reference solutions that the score beats, ties counting half, in
    /// place of the score: 0 to 1, whatever the metric (the human rank of MLE-Dojo, with the ladder as the board).
    Rank {
        /// Without a valid submission.
        invalid: f64,
        /// For each marker.
        marker: f64,
    },
    /// Like `Score`, with the place on the task's ladder of reference scores in place of the score: 0 for the sample
    /// submission or worse, 1 for the best known score, each rung the same step, linear between rungs.
    Ladder {
        /// Without a valid submission.
        invalid: f64,
        /// For each marker.
        marker: f64,
    },
    /// Each component on a scale from 0 to 1, weighted: a valid submission, the share of the markers reached, the place
    /// on the ladder.
    Components {
        /// Weight of a valid submission.
        validity: f64,
        /// Weight of the markers.
        markers: f64,
        /// Weight of the place on the ladder.
        score: f64,
    },
}

/// Two readings of "the change of the score".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeForm {
    /// 1 if improved, else 0.
    Improved,
    /// New minus old, better = positive; a missing score counts as the worst of the task.
    Difference,
}

/// The reward of one rollout, its parts apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reward {
    /// Whether there was a valid submission.
    pub valid: bool,
    /// Markers reached, counted once and in order.
    pub markers: u32,
    /// Score on the reward half in the task's metric; none when invalid.
    pub score: Option<f64>,
    /// The score with the sign turned so that higher is better.
    pub gain: Option<f64>,
    /// Place of the score on the task's ladder of reference scores, 0 to 1 and more beyond the best known; none when
    /// invalid, and from writers that did not tell.
    #[serde(default)]
    pub place: Option<f64>,
    /// What each part adds to `total` by the run's [`RewardRule`]; none from writers that did not tell.
    #[serde(default)]
    pub parts: Option<RewardParts>,
    /// The sum of the parts.
    pub total: f64,
    /// Why it is invalid, for people; no label-dependent fact in it.
    pub reason: Option<String>,
}

/// What each part of a rollout adds to its reward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RewardParts {
    /// For being valid, or the penalty for not being it.
    pub validity: f64,
    /// For markers reached.
    pub markers: f64,
    /// For the score, its rank, its place or its change.
    pub score: f64,
}

impl RewardParts {
    /// The reward.
    pub fn total(self) -> f64 {
        self.validity + self.markers + self.score
    }
}

/// The end of one rollout, committed once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolloutEnd {
    /// Which rollout.
    pub key: RolloutKey,
    /// Which attempt brought it here.
    pub attempt: u32,
    /// Which model is being trained.
    pub policy: Policy,
    /// Policy version at dispatch.
    pub policy_version: u64,
    /// How it ended.
    pub outcome: EndOutcome,
}

/// How a rollout ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndOutcome {
    /// It has a reward.
    Rewarded(Box<Rewarded>),
    /// A stage gave it up.
    Failed {
        /// Which stage.
        stage: Stage,
        /// Why, for people.
        reason: String,
    },
    /// Its group's deadline passed.
    Expired,
}

/// A rollout with a reward.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rewarded {
    /// The reward.
    pub reward: Reward,
    /// The policy's completion (JSON of [`Completion`](crate::job::Completion)).
    pub completion: ContentHash,
    /// The program and what it printed; none when there was no program.
    pub solution: Option<Solution>,
    /// How the execution ended; none when nothing ran.
    pub verdict: Option<Verdict>,
    /// Why nothing ran.
    pub not_run: Option<NotRun>,
    /// Wall-clock seconds of the execution, 0 when nothing ran.
    pub wall_s: f64,
    /// CPU seconds of the execution, 0 when nothing ran.
    pub cpu_s: f64,
    /// How strongly the program was walled in.
    pub isolation: Option<IsolationLevel>,
}
