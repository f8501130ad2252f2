//! One optimizer step: ended groups in, new adapter and what was measured out. Pure but for the model's kernels.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use journeyman_lm::{
    LanguageModel,
    lora::{Adapter, AdapterError},
    train::{Pass, TrainError, TrainGroup, logprobs_and_gradient},
};
use journeyman_rl::{
    credit::{Advantage, PartWeights, Sample, advantages, duration_weights},
    loss::{LossInputs, policy_loss},
    mismatch::Mismatch,
    optim::{AdamW, AdamWConfig, Schedule, clip_global_norm},
};
use journeyman_schemas::{
    job::Policy,
    run_config::{AdvantageForm, DurationWeightForm, RunConfig},
};

use crate::{
    draw,
    rollouts::{EndedGroup, EndedRollout},
};

/// What an update needs.
pub(crate) struct Update {
    /// The run's configuration.
    pub(crate) config: RunConfig,
    /// The base model.
    pub(crate) model: Arc<LanguageModel>,
    /// The adapter before the step.
    pub(crate) adapter: Arc<Adapter>,
    /// The optimizer before the step.
    pub(crate) optimizer: AdamW,
    /// Step number, from 1.
    pub(crate) step: u64,
    /// The step's groups, in dispatch order.
    pub(crate) groups: Vec<EndedGroup>,
    /// Set to leave early.
    pub(crate) stop: Arc<AtomicBool>,
}

/// What came of it.
pub(crate) struct Updated {
    /// The adapter after the step.
    pub(crate) adapter: Arc<Adapter>,
    /// The optimizer after the step.
    pub(crate) optimizer: AdamW,
    /// What was measured.
    pub(crate) measured: Measured,
}

/// Numbers of one update.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// Sampler against trainer, before the update.
    pub(crate) mismatch: Mismatch,
    /// Loss of the batch.
    pub(crate) loss: f64,
    /// Global gradient norm before clipping.
    pub(crate) grad_norm: f64,
    /// Rate of this step.
    pub(crate) learning_rate: f64,
    /// Mean entropy of the policy at the sampled positions, nats.
    pub(crate) entropy_mean: f64,
    /// Tokens whose ratio was clipped, and tokens in all.
    pub(crate) clipped_tokens: usize,
    /// Tokens trained on.
    pub(crate) tokens: usize,
    /// Groups without any advantage, which were skipped.
    pub(crate) groups_skipped: u64,
}

/// Why an update failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UpdateError {
    /// The model's pass failed.
    #[error("forward or backward pass of group {group} failed")]
    Pass {
        /// Which group.
        group: u64,
        /// Why.
        source: TrainError,
    },
    /// The gradient is not finite: the step is not taken.
    #[error("the gradient of step {step} is not finite (norm {norm}): the step is not taken")]
    NotFinite {
        /// Which step.
        step: u64,
        /// The norm.
        norm: f64,
    },
    /// The parameters don't fit the adapter.
    #[error(transparent)]
    Adapter(#[from] AdapterError),
    /// The trainer was told to stop.
    #[error("stopped")]
    Stopped,
}

/// Runs the update; takes seconds to minutes of all cores.
pub(crate) fn update(mut update: Update) -> Result<Updated, UpdateError> {
    let weights = weights(&update.config, &update.groups);
    let batch_tokens = update
        .groups
        .iter()
        .flat_map(|group| &group.rollouts)
        .map(|r| r.token_ids.len())
        .sum();
    let mut gradient = vec![0.0_f32; update.adapter.parameters().len()];
    let mut measured = Measured {
        tokens: batch_tokens,
        ..Measured::default()
    };
    let mut entropy = Vec::new();
    for (group, weights) in update.groups.iter().zip(&weights) {
        let skipped = weights.iter().all(|weight| *weight == 0.0);
        measured.groups_skipped += u64::from(skipped);
        if skipped {
            continue;
        }
        if update.stop.load(Ordering::Relaxed) {
            return Err(UpdateError::Stopped);
        }
        let pass = pass(&update, group, weights, batch_tokens, &mut measured).map_err(|source| {
            UpdateError::Pass {
                group: group.group,
                source,
            }
        })?;
        gradient
            .iter_mut()
            .zip(&pass.gradient)
            .for_each(|(sum, value)| *sum += value);
        entropy.push(f64::from(pass.entropy_mean));
    }
    measured.entropy_mean = entropy.iter().sum::<f64>() / entropy.len().max(1) as f64;
    let optimizer = &update.config.optimizer;
    let schedule = Schedule {
        peak: optimizer.learning_rate,
        warmup_steps: optimizer.warmup_steps,
        steps: update.config.run.steps,
        decay_to: optimizer.decay_to,
    };
    measured.learning_rate = schedule.rate(update.step);
    measured.grad_norm = clip_global_norm(&mut gradient, optimizer.max_grad_norm);
    if !measured.grad_norm.is_finite() {
        return Err(UpdateError::NotFinite {
            step: update.step,
            norm: measured.grad_norm,
        });
    }
    if measured.groups_skipped == update.groups.len() as u64 {
        return Ok(Updated {
            adapter: update.adapter,
            optimizer: update.optimizer,
            measured,
        });
    }
    let mut parameters = update.adapter.parameters();
    let adam = AdamWConfig {
        beta1: optimizer.beta1,
        beta2: optimizer.beta2,
        epsilon: optimizer.epsilon,
        weight_decay: optimizer.weight_decay,
    };
    update
        .optimizer
        .step(&mut parameters, &gradient, measured.learning_rate, &adam);
    let adapter = Arc::new(update.adapter.with_parameters(&parameters)?);
    Ok(Updated {
        adapter,
        optimizer: update.optimizer,
        measured,
    })
}

/// One forward and backward pass over a group.
fn pass(
    update: &Update,
    group: &EndedGroup,
    weights: &[f64],
    batch_tokens: usize,
    measured: &mut Measured,
) -> Result<Pass, TrainError> {
    let old: Vec<Vec<f32>> = group
        .rollouts
        .iter()
        .map(|rollout| rollout.logprobs.clone())
        .collect();
    let shared = shared(group, update.config.grpo.max_tokens_per_pass);
    logprobs_and_gradient(&update.model, &update.adapter, &shared, |new| {
        for (trainer, sampler) in new.iter().zip(&old) {
            measured.mismatch.add(trainer, sampler);
        }
        let outputs = policy_loss(&LossInputs {
            new,
            old: &old,
            weights,
            clip_low: update.config.grpo.clip_low,
            clip_high: update.config.grpo.clip_high,
            batch_tokens,
        });
        measured.loss += outputs.loss;
        measured.clipped_tokens += outputs.clipped_tokens;
        outputs.gradient
    })
}

/// A group as the model's passes take it: one prompt, many completions.
fn shared(group: &EndedGroup, max_tokens: usize) -> TrainGroup<'_> {
    TrainGroup {
        prompt: &group.prompt,
        completions: group
            .rollouts
            .iter()
            .map(|rollout| rollout.token_ids.as_slice())
            .collect(),
        max_tokens,
    }
}

/// Advantage times duration weight, for every rollout of every group.
fn weights(config: &RunConfig, groups: &[EndedGroup]) -> Vec<Vec<f64>> {
    let form = advantage_form(config);
    let durations: Vec<f64> = groups
        .iter()
        .flat_map(|group| &group.rollouts)
        .map(|rollout| rollout.wall_s)
        .collect();
    let mut duration_weights = match config.grpo.duration_weight {
        DurationWeightForm::None => vec![1.0; durations.len()],
        DurationWeightForm::Dt => duration_weights(&durations),
    }
    .into_iter();
    groups
        .iter()
        .map(|group| {
            let mut samples: Vec<Sample> = group.rollouts.iter().map(sample).collect();
            if config.run.shuffle_rewards {
                draw::shuffle(config.run.seed, group.group, &mut samples);
            }
            let advantages = advantages(&samples, &form);
            advantages
                .into_iter()
                .zip(duration_weights.by_ref())
                .map(|(a, w)| a * w)
                .collect()
        })
        .collect()
}

/// The ideator's reward is one number, so its parts can't be taken apart.
fn advantage_form(config: &RunConfig) -> Advantage {
    match (config.run.policy, config.grpo.advantage) {
        (Policy::Ideator, _) | (_, AdvantageForm::Sum) => Advantage::Sum,
        (Policy::Implementer, AdvantageForm::PerPart) => Advantage::PerPart(PartWeights {
            validity: config.grpo.weight_validity,
            markers: config.grpo.weight_markers,
            score: config.grpo.weight_score,
            score_std_floor: config.grpo.score_std_floor,
            brevity: config.grpo.weight_brevity,
        }),
    }
}

fn sample(rollout: &EndedRollout) -> Sample {
    Sample {
        total: rollout.reward.total,
        valid: rollout.reward.valid,
        markers: f64::from(rollout.reward.markers),
        gain: rollout.reward.gain,
        tokens: rollout.token_ids.len() as f64,
    }
}

#[cfg(test)]
mod tests;
