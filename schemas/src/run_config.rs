//! The configuration of a run: the TOML that `journeyman train` takes. Unknown keys are refused.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    execution::Limits,
    ids::{ModelId, RunId, TaskId},
    job::{InstrumentRule, Policy},
    reward::{ChangeForm, RewardRule},
};

/// One training run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// What is trained, on what, for how long.
    pub run: RunSection,
    /// The base model.
    pub model: ModelSection,
    /// How rollouts are drawn.
    #[serde(default)]
    pub rollouts: RolloutsSection,
    /// How ends become rewards.
    #[serde(default)]
    pub reward: RewardSection,
    /// How rewards become weights and a loss.
    #[serde(default)]
    pub grpo: GrpoSection,
    /// The optimizer.
    #[serde(default)]
    pub optimizer: OptimizerSection,
    /// The trained weights.
    #[serde(default)]
    pub lora: LoraSection,
    /// Limits of each program.
    #[serde(default)]
    pub execution: ExecutionSection,
    /// How progress markers are added.
    #[serde(default)]
    pub instrument: InstrumentSection,
    /// Only read when `run.policy = "ideator"`.
    #[serde(default)]
    pub ideator: IdeatorSection,
}

/// `[run]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSection {
    /// Names the run everywhere; a run of the same name goes on from its last step.
    pub id: RunId,
    /// The task.
    pub task: TaskId,
    /// Which model is trained.
    #[serde(default = "implementer")]
    pub policy: Policy,
    /// Optimizer steps, at least 1.
    pub steps: u64,
    /// Seed of everything random in the run.
    #[serde(default)]
    pub seed: u64,
    /// Control experiment: rewards are shuffled within each group before they are used.
    #[serde(default)]
    pub shuffle_rewards: bool,
}

fn implementer() -> Policy {
    Policy::Implementer
}

/// `[model]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelSection {
    /// Its name in the list of known models (`journeyman models ls`).
    pub id: ModelId,
}

/// `[rollouts]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RolloutsSection {
    /// Groups per step, B.
    pub groups_per_step: u64,
    /// Rollouts per group, G; they share one state.
    pub group_size: u32,
    /// Longest completion, tokens.
    pub max_tokens: u32,
    /// Staleness bound η, in policy versions; 0 = rollouts and updates take turns.
    pub staleness: u64,
    /// Probability of "improve this earlier solution" once there is one.
    pub improve_probability: f64,
    /// Best solutions of the run among which the earlier solution is drawn.
    pub improve_from_best: u32,
    /// Seconds after which a group that is still open is ended.
    pub deadline_s: u64,
    /// Rewarded rollouts that make a group usable when others failed.
    pub min_usable: u32,
}

impl Default for RolloutsSection {
    fn default() -> Self {
        Self {
            groups_per_step: 2,
            group_size: 8,
            max_tokens: 512,
            staleness: 0,
            improve_probability: 0.5,
            improve_from_best: 4,
            deadline_s: 900,
            min_usable: 2,
        }
    }
}

/// `[reward]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RewardSection {
    /// How the end of a rollout becomes a reward.
    pub rule: RewardForm,
    /// `score`, `rank` and `ladder`: reward without a valid submission. Unset: −10 with `score` (RL4MLE), −1 with the
    /// others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalid: Option<f64>,
    /// `score`, `rank` and `ladder`: reward per progress marker (RL4MLE: 0.1).
    pub marker: f64,
    /// `change`: how the change of the score is read.
    pub change: ChangeForm,
    /// `change`: reward of a badly formed idea (MLE-Ideator: −1).
    pub malformed: f64,
    /// `components`: weight of a valid submission.
    pub weight_validity: f64,
    /// `components`: weight of the share of the markers reached.
    pub weight_markers: f64,
    /// `components`: weight of the place on the ladder.
    pub weight_score: f64,
}

impl Default for RewardSection {
    fn default() -> Self {
        Self {
            rule: RewardForm::Auto,
            invalid: None,
            marker: 0.1,
            change: ChangeForm::Difference,
            malformed: -1.0,
            weight_validity: 1.0,
            weight_markers: 0.5,
            weight_score: 1.0,
        }
    }
}

/// How the end of a rollout becomes a reward. Validity, markers and score are stored apart with each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RewardForm {
    /// `score` for the implementer, `change` for the ideator.
    Auto,
    /// RL4MLE: the score with the sign turned where lower is better, or `invalid`; and `marker` for each marker.
    Score,
    /// MLE-Ideator: what became of the score of the state's solution.
    Change,
    /// The share of the task's reference solutions that the score beats, 0 to 1, or `invalid`; and the markers.
    Rank,
    /// The place of the score on the task's ladder of reference scores, 0 to 1, or `invalid`; and the markers.
    Ladder,
    /// Validity, share of the markers and place on the ladder, each from 0 to 1, weighted.
    Components,
}

/// `[grpo]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GrpoSection {
    /// What is normalised within a group: the sum of the reward's parts, or each part apart.
    pub advantage: AdvantageForm,
    /// Per part: weight of "is there a valid submission".
    pub weight_validity: f64,
    /// Per part: weight of the markers reached.
    pub weight_markers: f64,
    /// Per part: weight of the score, normalised over the group's valid rollouts.
    pub weight_score: f64,
    /// Per part: added to the score's standard deviation, in units of the score, so that noise between equal programs is not blown up.
    pub score_std_floor: f64,
    /// Per part: weight of a short completion, normalised over the group's valid rollouts, so that filler does not grow.
    pub weight_brevity: f64,
    /// Weight by execution time (RL4MLE's duration-aware gradient).
    pub duration_weight: DurationWeightForm,
    /// Ratio clip below 1.
    pub clip_low: f64,
    /// Ratio clip above 1.
    pub clip_high: f64,
    /// Most tokens of one forward and backward pass; bounds memory.
    pub max_tokens_per_pass: usize,
}

impl Default for GrpoSection {
    fn default() -> Self {
        Self {
            advantage: AdvantageForm::PerPart,
            weight_validity: 1.0,
            weight_markers: 0.5,
            weight_score: 1.5,
            score_std_floor: 0.02,
            weight_brevity: 0.25,
            duration_weight: DurationWeightForm::None,
            clip_low: 0.2,
            clip_high: 0.28,
            max_tokens_per_pass: 4096,
        }
    }
}

/// What is normalised within a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdvantageForm {
    /// The sum of the parts (RL4MLE).
    Sum,
    /// Each part apart (GDPO).
    PerPart,
}

/// Weighting by execution time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DurationWeightForm {
    /// All rollouts weigh the same. Right while the trainer waits for every rollout of a group.
    None,
    /// Execution time over its mean in the batch.
    Dt,
}

/// `[optimizer]`: AdamW.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OptimizerSection {
    /// Highest learning rate, reached at the end of the warm-up.
    pub learning_rate: f64,
    /// Steps over which the rate rises linearly.
    pub warmup_steps: u64,
    /// Share of the learning rate to which it falls linearly until step `run.steps`; 1 = it stays. A run that goes on with
    /// more steps than before falls more slowly from there on.
    pub decay_to: f64,
    /// First-moment decay.
    pub beta1: f64,
    /// Second-moment decay.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub epsilon: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// Longest global gradient norm.
    pub max_grad_norm: f64,
}

impl Default for OptimizerSection {
    fn default() -> Self {
        Self {
            learning_rate: 1e-4,
            warmup_steps: 1,
            decay_to: 0.1,
            beta1: 0.9,
            beta2: 0.99,
            epsilon: 1e-8,
            weight_decay: 0.0,
            max_grad_norm: 1.0,
        }
    }
}

/// `[lora]`: on all 7 linear kinds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoraSection {
    /// Rank.
    pub rank: usize,
    /// Alpha; the scale is alpha / rank.
    pub alpha: f64,
}

impl Default for LoraSection {
    fn default() -> Self {
        Self {
            rank: 32,
            alpha: 64.0,
        }
    }
}

/// `[execution]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExecutionSection {
    /// Wall-clock seconds.
    pub wall_s: f64,
    /// Memory, MiB.
    pub memory_mib: u64,
    /// Processes and threads.
    pub pids: u32,
    /// Output kept, KiB.
    pub output_kib: u64,
    /// Files written, MiB.
    pub disk_mib: u64,
}

impl Default for ExecutionSection {
    fn default() -> Self {
        Self {
            wall_s: 60.0,
            memory_mib: 2048,
            pids: 128,
            output_kib: 64,
            disk_mib: 256,
        }
    }
}

/// `[instrument]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InstrumentSection {
    /// Share of programs for which the frozen model proposes where markers go; the rest, and every refused
    /// proposal, is instrumented from the syntax tree.
    pub model_share: f64,
}

impl Default for InstrumentSection {
    fn default() -> Self {
        Self { model_share: 0.125 }
    }
}

/// `[ideator]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IdeatorSection {
    /// Attempts of the frozen implementer that fill the state pool before the first step.
    pub pool_size: u32,
    /// Longest idea, tokens.
    pub max_tokens: u32,
    /// Temperature of the frozen implementer that carries an idea out.
    pub implement_temperature: f32,
}

impl Default for IdeatorSection {
    fn default() -> Self {
        Self {
            pool_size: 16,
            max_tokens: 256,
            implement_temperature: 0.7,
        }
    }
}

/// A value that is not allowed.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("`{field}` is {value}, but must be {allowed}")]
pub struct RunConfigError {
    /// Path of the field in the TOML.
    pub field: &'static str,
    /// The value.
    pub value: String,
    /// What is allowed.
    pub allowed: &'static str,
}

impl RunConfig {
    /// Checks every value that has a range.
    pub fn check(&self) -> Result<(), RunConfigError> {
        let rollouts = &self.rollouts;
        let optimizer = &self.optimizer;
        let at_least_one: [(&'static str, u64); 8] = [
            ("run.steps", self.run.steps),
            ("rollouts.groups_per_step", rollouts.groups_per_step),
            ("rollouts.max_tokens", rollouts.max_tokens.into()),
            ("rollouts.deadline_s", rollouts.deadline_s),
            ("rollouts.improve_from_best", rollouts.improve_from_best.into()),
            ("lora.rank", self.lora.rank as u64),
            ("execution.memory_mib", self.execution.memory_mib),
            ("ideator.pool_size", self.ideator.pool_size.into()),
        ];
        for (field, value) in at_least_one {
            refuse(value == 0, field, value, "at least 1")?;
        }
        let size = rollouts.group_size;
        refuse(
            !(2..=256).contains(&size),
            "rollouts.group_size",
            size,
            "from 2 to 256",
        )?;
        let usable = rollouts.min_usable;
        refuse(
            usable < 2 || usable > size,
            "rollouts.min_usable",
            usable,
            "from 2 to `rollouts.group_size`",
        )?;
        for (field, value) in [
            ("rollouts.improve_probability", rollouts.improve_probability),
            ("instrument.model_share", self.instrument.model_share),
            ("optimizer.decay_to", optimizer.decay_to),
        ] {
            refuse(!(0.0..=1.0).contains(&value), field, value, "from 0 to 1")?;
        }
        for (field, value) in [
            ("optimizer.learning_rate", optimizer.learning_rate),
            ("optimizer.epsilon", optimizer.epsilon),
            ("optimizer.max_grad_norm", optimizer.max_grad_norm),
            ("lora.alpha", self.lora.alpha),
            ("execution.wall_s", self.execution.wall_s),
            ("grpo.clip_low", self.grpo.clip_low),
            ("grpo.clip_high", self.grpo.clip_high),
        ] {
            refuse(!(value.is_finite() && value > 0.0), field, value, "above 0")?;
        }
        let grpo = &self.grpo;
        for (field, value) in [
            ("grpo.weight_validity", grpo.weight_validity),
            ("grpo.weight_markers", grpo.weight_markers),
            ("grpo.weight_score", grpo.weight_score),
            ("grpo.score_std_floor", grpo.score_std_floor),
            ("grpo.weight_brevity", grpo.weight_brevity),
            ("optimizer.weight_decay", optimizer.weight_decay),
        ] {
            refuse(!(value.is_finite() && value >= 0.0), field, value, "0 or above")?;
        }
        let reward = &self.reward;
        for (field, value) in [
            ("reward.weight_validity", reward.weight_validity),
            ("reward.weight_markers", reward.weight_markers),
            ("reward.weight_score", reward.weight_score),
        ] {
            refuse(!(value.is_finite() && value >= 0.0), field, value, "0 or above")?;
        }
        for (field, value) in [
            ("reward.invalid", reward.invalid.unwrap_or(0.0)),
            ("reward.marker", reward.marker),
            ("reward.malformed", reward.malformed),
        ] {
            refuse(!value.is_finite(), field, value, "a finite number")?;
        }
        for (field, value) in [
            ("optimizer.beta1", optimizer.beta1),
            ("optimizer.beta2", optimizer.beta2),
        ] {
            refuse(!(0.0..1.0).contains(&value), field, value, "from 0 to below 1")?;
        }
        Ok(())
    }

    /// Limits of each program.
    pub fn limits(&self) -> Limits {
        const MIB: u64 = 1024 * 1024;
        Limits {
            wall_s: self.execution.wall_s,
            memory_bytes: self.execution.memory_mib * MIB,
            pids: self.execution.pids,
            output_bytes: self.execution.output_kib * 1024,
            disk_bytes: self.execution.disk_mib * MIB,
        }
    }

    /// How ends become rewards, for the policy that is trained.
    pub fn reward_rule(&self) -> RewardRule {
        let reward = &self.reward;
        let form = match (reward.rule, self.run.policy) {
            (RewardForm::Auto, Policy::Implementer) => RewardForm::Score,
            (RewardForm::Auto, Policy::Ideator) => RewardForm::Change,
            (form, _) => form,
        };
        let marker = reward.marker;
        match form {
            RewardForm::Auto | RewardForm::Score => RewardRule::Score {
                invalid: reward.invalid.unwrap_or(-10.0),
                marker,
            },
            RewardForm::Change => RewardRule::Change {
                form: reward.change,
                malformed: reward.malformed,
            },
            RewardForm::Rank => RewardRule::Rank {
                invalid: reward.invalid.unwrap_or(-1.0),
                marker,
            },
            RewardForm::Ladder => RewardRule::Ladder {
                invalid: reward.invalid.unwrap_or(-1.0),
                marker,
            },
            RewardForm::Components => RewardRule::Components {
                validity: reward.weight_validity,
                markers: reward.weight_markers,
                score: reward.weight_score,
            },
        }
    }

    /// How progress markers are added.
    pub fn instrument_rule(&self) -> InstrumentRule {
        let share = self.instrument.model_share;
        InstrumentRule {
            model: (share > 0.0).then(|| self.model.id.clone()),
            model_share: share,
        }
    }
}

fn refuse(
    bad: bool,
    field: &'static str,
    value: impl ToString,
    allowed: &'static str,
) -> Result<(), RunConfigError> {
    if bad {
        return Err(RunConfigError {
            field,
            value: value.to_string(),
            allowed,
        });
    }
    Ok(())
}
