//! What a step is remembered by: the line in `metrics.jsonl`, the exported metrics, the log.

use journeyman_schemas::{ids::ContentHash, run::StepMetrics};
use journeyman_service::{Context, Metric};

use crate::{
    config::Config,
    rollouts::{EndedGroup, EndedRollout},
    update::Measured,
};

/// How long a step took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// The whole step.
    pub(crate) seconds: f64,
    /// From dispatch to the last reward.
    pub(crate) rollout_seconds: f64,
    /// The update.
    pub(crate) update_seconds: f64,
}

/// The line of the step that was taken at policy version `version`. `gain` turns a score so that higher is better.
pub(crate) fn step(
    version: u64,
    groups: &[EndedGroup],
    measured: &Measured,
    timing: Timing,
    policy: ContentHash,
    gain: impl Fn(f64) -> f64,
) -> StepMetrics {
    let rollouts: Vec<&EndedRollout> = groups.iter().flat_map(|group| &group.rollouts).collect();
    let mean = |value: &dyn Fn(&EndedRollout) -> f64| {
        rollouts.iter().map(|rollout| value(rollout)).sum::<f64>() / rollouts.len().max(1) as f64
    };
    let scores: Vec<f64> = rollouts
        .iter()
        .filter_map(|rollout| rollout.reward.score)
        .collect();
    let best = scores
        .iter()
        .copied()
        .max_by(|a, b| gain(*a).total_cmp(&gain(*b)));
    StepMetrics {
        step: version + 1,
        rollouts: rollouts.len() as u64,
        rollouts_lost: groups.iter().map(|group| group.lost).sum(),
        valid_share: mean(&|rollout| f64::from(u8::from(rollout.reward.valid))),
        score_mean: (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64),
        score_best: best,
        reward_mean: mean(&|rollout| rollout.reward.total),
        markers_mean: mean(&|rollout| f64::from(rollout.reward.markers)),
        tokens: measured.tokens as u64,
        completion_tokens_mean: mean(&|rollout| rollout.token_ids.len() as f64),
        truncated_share: mean(&|rollout| f64::from(u8::from(rollout.truncated))),
        seconds: timing.seconds,
        rollout_seconds: timing.rollout_seconds,
        update_seconds: timing.update_seconds,
        policy_version: version,
        policy,
        mismatch_max: measured.mismatch.max(),
        mismatch_mean: measured.mismatch.mean(),
        mismatch_k3: measured.mismatch.k3(),
        staleness_max: groups
            .iter()
            .map(|group| version - group.policy_version)
            .max()
            .unwrap_or(0),
        groups_improve: groups.iter().filter(|group| group.improve).count() as u64,
        groups_skipped: measured.groups_skipped,
        loss: measured.loss,
        grad_norm: measured.grad_norm,
        learning_rate: measured.learning_rate,
        entropy_mean: measured.entropy_mean,
        clip_fraction: measured.clipped_tokens as f64 / measured.tokens.max(1) as f64,
        execution_seconds_mean: mean(&|rollout| rollout.wall_s),
    }
}

/// Shows the step in `/metrics`.
pub(crate) fn export(ctx: &Context<Config>, step: &StepMetrics) {
    let metrics = &ctx.metrics;
    metrics.set(Metric::TrainerStep, &[], step.step as f64);
    metrics.set(Metric::TrainerStepTime, &[], ctx.clock.now_ms() as f64 / 1000.0);
    metrics.observe(Metric::TrainerStepSeconds, &[], step.seconds);
    metrics.set(Metric::PolicyVersion, &[], (step.policy_version + 1) as f64);
    metrics.set(Metric::StalenessMax, &[], step.staleness_max as f64);
    metrics.set(Metric::RewardMean, &[], step.reward_mean);
    metrics.set(Metric::ValidShare, &[], step.valid_share);
    metrics.set(Metric::MismatchMax, &[], step.mismatch_max);
    metrics.set(Metric::GradNorm, &[], step.grad_norm);
    metrics.add(Metric::TrainedTokens, &[], step.tokens as f64);
    metrics.add(Metric::GroupsSkipped, &[], step.groups_skipped as f64);
}

/// One line for people.
pub(crate) fn log(step: &StepMetrics) {
    let score = |value: Option<f64>| value.map_or("none".to_owned(), |value| format!("{value:.4}"));
    tracing::info!(
        step = step.step,
        "step {}: {} rollouts, {:.0} % valid, score mean {} best {}, mismatch {:.1e}, {:.0} s (rollouts {:.0} s, update {:.0} s)",
        step.step,
        step.rollouts,
        step.valid_share * 100.0,
        score(step.score_mean),
        score(step.score_best),
        step.mismatch_max,
        step.seconds,
        step.rollout_seconds,
        step.update_seconds,
    );
}
