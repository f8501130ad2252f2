//! Log-probabilities and weights → a loss, its gradient with respect to each log-probability, and diagnostics.

/// Bound of a log-ratio before it is exponentiated.
const LOG_RATIO_LIMIT: f64 = 20.0;

/// One group of samples. Sample `i` has `new[i].len() == old[i].len()` tokens, all of which count.
#[derive(Clone, Copy, Debug)]
pub struct LossInputs<'a> {
    /// Log-probability of each token under the policy that is trained, nats.
    pub new: &'a [Vec<f32>],
    /// Log-probability of each token when it was drawn, nats.
    pub old: &'a [Vec<f32>],
    /// Weight of each sample: advantage times duration weight.
    pub weights: &'a [f64],
    /// How far the ratio may fall below 1 before a gain from it stops counting.
    pub clip_low: f64,
    /// How far it may rise above 1 (clip-higher, DAPO, arXiv 2503.14476).
    pub clip_high: f64,
    /// Tokens of the *whole* batch, all groups together: what the sum is divided by, so that a token weighs the same
    /// whichever micro-batch it is in.
    pub batch_tokens: usize,
}

/// What one group adds to the batch's loss.
#[derive(Clone, Debug, PartialEq)]
pub struct LossOutputs {
    /// The group's share of the loss.
    pub loss: f64,
    /// dLoss / d`new`, the shape of `new`.
    pub gradient: Vec<Vec<f32>>,
    /// Tokens whose ratio was clipped.
    pub clipped_tokens: usize,
    /// Tokens in all.
    pub tokens: usize,
}

/// Token-level clipped policy loss (PPO's surrogate, arXiv 1707.06347 equation 7, over GRPO's advantages, with DAPO's
/// token mean):
///
/// `L = 1/T · Σ_i Σ_t max(−A_i ρ_it, −A_i clip(ρ_it, 1 − ε_low, 1 + ε_high))`, `ρ = exp(new − old)`, T = `batch_tokens`.
///
/// Where the clipped branch is the larger the gradient is 0, else it is `−A_i ρ_it / T`.
pub fn policy_loss(inputs: &LossInputs<'_>) -> LossOutputs {
    let scale = 1.0 / inputs.batch_tokens.max(1) as f64;
    let mut outputs = LossOutputs {
        loss: 0.0,
        gradient: Vec::new(),
        clipped_tokens: 0,
        tokens: 0,
    };
    for ((new, old), &weight) in inputs.new.iter().zip(inputs.old).zip(inputs.weights) {
        let mut gradient = Vec::with_capacity(new.len());
        for (&new, &old) in new.iter().zip(old) {
            let ratio = (f64::from(new) - f64::from(old))
                .clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
                .exp();
            let plain = -weight * ratio;
            let clipped = -weight * ratio.clamp(1.0 - inputs.clip_low, 1.0 + inputs.clip_high);
            let is_clipped = clipped > plain;
            outputs.loss += plain.max(clipped) * scale;
            outputs.clipped_tokens += usize::from(is_clipped);
            gradient.push(if is_clipped { 0.0 } else { (plain * scale) as f32 });
        }
        outputs.tokens += gradient.len();
        outputs.gradient.push(gradient);
    }
    outputs
}

#[cfg(test)]
mod tests;
