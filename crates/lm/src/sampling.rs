//! Draws the next token of one row, and reports its raw log-probability.
//!
//! Ids that the model never uses (padding of the vocabulary) are left out before any softmax, here
//! and in [`crate::train`]. The raw log-probability is the log-softmax of the unmodified logits over
//! the remaining ids, whatever temperature, filters and penalties shaped the draw.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::host::math::{exp_shifted_sum, maximum};

/// How a token is drawn. [`Default`] is what training rollouts need: temperature 1 and nothing else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SamplingParams {
    /// Logits are divided by it; 0 takes the most likely token.
    pub temperature: f32,
    /// Keep the fewest likeliest tokens whose probabilities sum to at least this; 1 keeps all.
    pub top_p: f32,
    /// Keep the likeliest tokens, this many; 0 keeps all.
    pub top_k: usize,
    /// Keep tokens at least this many times as likely as the likeliest; 0 keeps all.
    pub min_p: f32,
    /// Divides positive and multiplies negative logits of tokens in the prompt or the output; 1 is off.
    pub repetition_penalty: f32,
    /// Subtracted from logits of tokens in the output; 0 is off.
    pub presence_penalty: f32,
    /// Subtracted from logits once for each time the token is in the output; 0 is off.
    pub frequency_penalty: f32,
    /// Seed of the draws.
    pub seed: u64,
    /// End tokens cannot be drawn before this many tokens.
    pub min_tokens: usize,
}

impl Default for SamplingParams {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_p: 1.0,
            top_k: 0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            seed: 0,
            min_tokens: 0,
        }
    }
}

/// What one draw sees.
#[derive(Debug, Clone, Copy)]
pub struct Draw<'a> {
    /// `[V]`
    pub logits: &'a [f32],
    /// `[V]`, false for ids that are never used.
    pub sampleable: &'a [bool],
    /// Ids that end a completion, kept back until `min_tokens`.
    pub end_ids: &'a [u32],
    /// Tokens before the completion, for the repetition penalty.
    pub prompt: &'a [u32],
    /// The completion so far; its length is the position of this draw.
    pub generated: &'a [u32],
    /// Which of the samples of one request this is.
    pub sample_index: u32,
}

/// A drawn token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampled {
    /// The token.
    pub id: u32,
    /// Its raw log-probability.
    pub logprob: f32,
}

/// Why no token can be drawn.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SampleError {
    /// The model's output is broken; the greedy choice would be token 0 without end.
    #[error("logit of token {id} is `{value}`, the model's output is not usable")]
    NotFinite {
        /// The first such token.
        id: usize,
        /// NaN or an infinity.
        value: f32,
    },
    /// The mask has not one entry for each logit.
    #[error("mask of sampleable ids has {mask} entries for {logits} logits")]
    MaskLength {
        /// Entries of the mask.
        mask: usize,
        /// Number of logits.
        logits: usize,
    },
    /// A parameter outside of its range.
    #[error("sampling parameter `{name}` is `{value}`, allowed is {allowed}")]
    Parameter {
        /// The field.
        name: &'static str,
        /// Its value.
        value: f32,
        /// The range.
        allowed: &'static str,
    },
    /// The mask and the minimum length leave no token.
    #[error("no token can be drawn: all ids are masked")]
    NothingLeft,
}

impl SamplingParams {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field outside of its range.
    pub fn validate(&self) -> Result<(), SampleError> {
        let fields = [
            ("temperature", self.temperature, 0.0..=f32::MAX, "0 or more"),
            (
                "top_p",
                self.top_p,
                f32::MIN_POSITIVE..=1.0,
                "above 0 and up to 1",
            ),
            ("min_p", self.min_p, 0.0..=1.0, "0 to 1"),
            (
                "repetition_penalty",
                self.repetition_penalty,
                f32::MIN_POSITIVE..=f32::MAX,
                "above 0",
            ),
            (
                "presence_penalty",
                self.presence_penalty,
                f32::MIN..=f32::MAX,
                "a finite number",
            ),
            (
                "frequency_penalty",
                self.frequency_penalty,
                f32::MIN..=f32::MAX,
                "a finite number",
            ),
        ];
        for (name, value, range, allowed) in fields {
            if !range.contains(&value) {
                return Err(SampleError::Parameter { name, value, allowed });
            }
        }
        Ok(())
    }

    fn penalizes(&self) -> bool {
        self.repetition_penalty != 1.0 || self.presence_penalty != 0.0 || self.frequency_penalty != 0.0
    }

    fn filters(&self) -> bool {
        self.top_k > 0 || self.top_p < 1.0 || self.min_p > 0.0
    }
}

/// Draws one token.
///
/// The random number depends on the seed, the sample's index and the position alone, so a row gives
/// the same tokens alone and in any batch. Temperature 0 and `top_k` 1 take the likeliest token, the
/// lowest id among equals.
///
/// # Errors
/// A NaN or infinite logit, a parameter out of range, a mask of another length or without a token.
pub fn sample(draw: &Draw<'_>, params: &SamplingParams) -> Result<Sampled, SampleError> {
    params.validate()?;
    let (logits, sampleable) = (draw.logits, draw.sampleable);
    if sampleable.len() != logits.len() {
        return Err(SampleError::MaskLength {
            mask: sampleable.len(),
            logits: logits.len(),
        });
    }
    if let Some((id, &value)) = logits.iter().enumerate().find(|(_, value)| !value.is_finite()) {
        return Err(SampleError::NotFinite { id, value });
    }
    let mut values: Vec<f32> = logits
        .iter()
        .zip(sampleable)
        .map(|(&logit, &keep)| if keep { logit } else { f32::NEG_INFINITY })
        .collect();
    let peak = maximum(&values);
    if peak == f32::NEG_INFINITY {
        return Err(SampleError::NothingLeft);
    }
    let held_back = draw.generated.len() < params.min_tokens && !draw.end_ids.is_empty();
    let plain = params.temperature == 1.0 && !params.filters() && !params.penalizes() && !held_back;
    let id = if plain {
        let sum = exp_shifted_sum(&mut values, peak);
        let id = pick(&values, uniform(draw, params.seed));
        return Ok(Sampled {
            id: id as u32,
            logprob: logits[id] - peak - sum.ln(),
        });
    } else {
        penalize(&mut values, draw, params);
        if held_back {
            for &id in draw.end_ids {
                if let Some(value) = values.get_mut(id as usize) {
                    *value = f32::NEG_INFINITY;
                }
            }
        }
        choose(&mut values, draw, params)?
    };
    let mut raw: Vec<f32> = logits
        .iter()
        .zip(sampleable)
        .map(|(&logit, &keep)| if keep { logit } else { f32::NEG_INFINITY })
        .collect();
    let sum = exp_shifted_sum(&mut raw, peak);
    Ok(Sampled {
        id: id as u32,
        logprob: logits[id] - peak - sum.ln(),
    })
}

/// The draw from logits to which penalties and masks were applied.
fn choose(values: &mut [f32], draw: &Draw<'_>, params: &SamplingParams) -> Result<usize, SampleError> {
    let peak = maximum(values);
    if peak == f32::NEG_INFINITY {
        return Err(SampleError::NothingLeft);
    }
    if params.temperature == 0.0 || params.top_k == 1 {
        // The maximum is one of the values.
        return values
            .iter()
            .position(|&value| value == peak)
            .ok_or(SampleError::NothingLeft);
    }
    for value in values.iter_mut() {
        *value = (*value - peak) / params.temperature;
    }
    exp_shifted_sum(values, 0.0);
    if params.filters() {
        filter(values, params);
    }
    Ok(pick(values, uniform(draw, params.seed)))
}

fn penalize(values: &mut [f32], draw: &Draw<'_>, params: &SamplingParams) {
    if params.repetition_penalty != 1.0 {
        let mut seen: Vec<u32> = draw.prompt.iter().chain(draw.generated).copied().collect();
        seen.sort_unstable();
        seen.dedup();
        for id in seen {
            if let Some(value) = values.get_mut(id as usize) {
                *value *= if *value > 0.0 {
                    params.repetition_penalty.recip()
                } else {
                    params.repetition_penalty
                };
            }
        }
    }
    if params.presence_penalty != 0.0 || params.frequency_penalty != 0.0 {
        let mut generated = draw.generated.to_vec();
        generated.sort_unstable();
        for same in generated.chunk_by(|left, right| left == right) {
            if let Some(value) = values.get_mut(same[0] as usize) {
                *value -= params.presence_penalty + params.frequency_penalty * same.len() as f32;
            }
        }
    }
}

/// Sets the weights of tokens outside of top-k, min-p and top-p to 0, in this order. The largest weight is 1.
fn filter(weights: &mut [f32], params: &SamplingParams) {
    let mut kept: Vec<usize> = (0..weights.len())
        .filter(|&id| weights[id] > 0.0 && weights[id] >= params.min_p)
        .collect();
    // Likeliest first, the lower id first among equals.
    let order =
        |left: &usize, right: &usize| weights[*right].total_cmp(&weights[*left]).then(left.cmp(right));
    if params.top_k > 0 && params.top_k < kept.len() {
        kept.select_nth_unstable_by(params.top_k - 1, order);
        kept.truncate(params.top_k);
    }
    if params.top_p < 1.0 {
        kept.sort_unstable_by(order);
        let wanted = params.top_p * kept.iter().map(|&id| weights[id]).sum::<f32>();
        let mut sum = 0.0;
        let count = kept.iter().take_while(|&&id| {
            let before = sum;
            sum += weights[id];
            before < wanted
        });
        let count = count.count();
        kept.truncate(count);
    }
    kept.sort_unstable();
    let mut kept = kept.into_iter().peekable();
    for (id, weight) in weights.iter_mut().enumerate() {
        if kept.next_if_eq(&id).is_none() {
            *weight = 0.0;
        }
    }
}

/// The index at which the running sum of the weights passes `uniform` times their sum.
fn pick(weights: &[f32], uniform: f64) -> usize {
    /// Sums of blocks first: most blocks are passed over at once.
    const BLOCK: usize = 1024;
    let sums: Vec<f64> = weights
        .chunks(BLOCK)
        .map(|block| block.iter().map(|&weight| f64::from(weight)).sum())
        .collect();
    let mut rest = uniform * sums.iter().sum::<f64>();
    let mut last = 0;
    for (block, sum) in sums.iter().enumerate() {
        let start = block * BLOCK;
        if rest >= *sum {
            rest -= sum;
            continue;
        }
        for (index, &weight) in weights[start..].iter().take(BLOCK).enumerate() {
            if weight > 0.0 {
                last = start + index;
                if rest < f64::from(weight) {
                    return last;
                }
                rest -= f64::from(weight);
            }
        }
    }
    // Rounding may leave a little of the sum: take the last token that can be drawn.
    if weights[last] > 0.0 {
        last
    } else {
        weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0)
    }
}

/// A number in 0..1 that depends on seed, sample and position alone.
fn uniform(draw: &Draw<'_>, seed: u64) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(u64::from(draw.sample_index));
    random.set_word_pos(16 * draw.generated.len() as u128);
    random.random::<f64>()
}

#[cfg(test)]
mod tests;
