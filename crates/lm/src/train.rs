//! Log-probabilities of completions and the exact gradient of a loss over them, for one adapter.
//!
//! A group's completions share their prompt. All of them lie in one packed batch without padding:
//! the prompt once, then each completion, which attends to the prompt's rows and its own. The
//! backward pass is written by hand over the same layout: the base is frozen, so it forms the
//! gradients of activations and of the low-rank factors only.

use std::ops::Range;

use crate::LanguageModel;
use crate::backward::FactorGradients;
use crate::host::attention::PackedSpan;
use crate::lora::{Adapter, AdapterShape, LayerAddition};
use crate::matrix::Matrix;
use crate::model::{LayerTape, Model, ModelError};

use self::head::{Entries, Head};

mod head;

/// The default for [`TrainGroup::max_tokens`]: about 6 GB of activations for a model of 0.5 B parameters.
pub const MAX_TOKENS: usize = 4608;

/// Completions of one prompt.
#[derive(Debug, Clone)]
pub struct TrainGroup<'a> {
    /// The shared prompt, at least one token.
    pub prompt: &'a [u32],
    /// The completions, at least one token each.
    pub completions: Vec<&'a [u32]>,
    /// Tokens of prompt and completions that go through the model at a time. A group with more is cut
    /// between completions, and the prompt repeated; the gradient stays exact.
    pub max_tokens: usize,
}

/// What [`logprobs_and_gradient`] found.
#[derive(Debug, Clone)]
pub struct Pass {
    /// Raw log-probability of every completion token.
    pub logprobs: Vec<Vec<f32>>,
    /// Gradient of the loss, in the order of [`Adapter::parameters`].
    pub gradient: Vec<f32>,
    /// Mean over all completion tokens of the entropy of the model's distribution, in nats.
    pub entropy_mean: f32,
}

/// Why a group cannot be trained on.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A token outside of the vocabulary, an empty prompt or completion, or too many positions.
    #[error(transparent)]
    Tokens(#[from] ModelError),
    /// A completion has a token that is never sampled, so it has no log-probability.
    #[error("token {token} of completion {completion} is masked from sampling and has no log-probability")]
    Masked {
        /// Index of the completion.
        completion: usize,
        /// The id.
        token: u32,
    },
    /// Prompt and completion alone exceed the limit.
    #[error("prompt and completion {completion} have {tokens} tokens, `max_tokens` is {max_tokens}")]
    TooLong {
        /// Index of the completion.
        completion: usize,
        /// Tokens of the two.
        tokens: usize,
        /// The limit.
        max_tokens: usize,
    },
    /// The adapter was made for another model shape.
    #[error("the adapter was made for another model shape")]
    AdapterShape,
    /// The loss returned derivatives of another shape than the log-probabilities.
    #[error("the loss gave {found} derivatives for completion {completion} with {expected} tokens")]
    LossShape {
        /// Index of the completion.
        completion: usize,
        /// Derivatives given.
        found: usize,
        /// Tokens.
        expected: usize,
    },
}

/// Log-probabilities of every completion token, and the gradient of a loss over them with respect to the adapter.
///
/// `loss_gradient` gets the log-probabilities of each completion and returns the derivative of the
/// loss with respect to each. It is called once, with all completions of the group.
///
/// # Errors
/// Tokens that the model cannot score, a foreign adapter, derivatives of the wrong shape.
pub fn logprobs_and_gradient<F>(
    lm: &LanguageModel,
    adapter: &Adapter,
    group: &TrainGroup<'_>,
    loss_gradient: F,
) -> Result<Pass, TrainError>
where
    F: FnOnce(&[Vec<f32>]) -> Vec<Vec<f32>>,
{
    let scorer = Scorer::new(&lm.model, lm.tokenizer.sampleable(), Some(adapter))?;
    scorer.logprobs_and_gradient(adapter, group, loss_gradient)
}

/// Raw log-probabilities of every completion token.
///
/// # Errors
/// Tokens that the model cannot score, a foreign adapter.
pub fn logprobs(
    lm: &LanguageModel,
    adapter: Option<&Adapter>,
    group: &TrainGroup<'_>,
) -> Result<Vec<Vec<f32>>, TrainError> {
    let scorer = Scorer::new(&lm.model, lm.tokenizer.sampleable(), adapter)?;
    Ok(scorer.logprobs(group)?.0)
}

/// A model with an adapter and the ids it may produce.
pub(crate) struct Scorer<'a> {
    model: &'a Model,
    additions: Option<&'a [LayerAddition]>,
    head: Head<'a>,
}

/// Part of a group in one packed batch.
struct Packed {
    tokens: Vec<u32>,
    positions: Vec<u32>,
    spans: Vec<PackedSpan>,
    /// One entry per completion token, completion after completion.
    entries: Entries,
}

impl<'a> Scorer<'a> {
    pub(crate) fn new(
        model: &'a Model,
        sampleable: &'a [bool],
        adapter: Option<&'a Adapter>,
    ) -> Result<Self, TrainError> {
        let additions = match adapter {
            Some(adapter) => Some(adapter.layers(model).ok_or(TrainError::AdapterShape)?),
            None => None,
        };
        Ok(Self {
            model,
            additions,
            head: Head::new(model, sampleable),
        })
    }

    /// Log-probabilities per completion, and the mean entropy.
    pub(crate) fn logprobs(&self, group: &TrainGroup<'_>) -> Result<(Vec<Vec<f32>>, f32), TrainError> {
        let mut logprobs = Vec::with_capacity(group.completions.len());
        let (mut entropy, mut count) = (0.0_f64, 0);
        for range in self.parts(group)? {
            let packed = Packed::new(group.prompt, &group.completions[range.clone()]);
            let hidden = self.forward(&packed, None);
            let scores = self.head.score(&hidden, &packed.entries, false);
            entropy += scores
                .entropies
                .iter()
                .map(|&value| f64::from(value))
                .sum::<f64>();
            count += scores.entropies.len();
            logprobs.extend(split(&scores.logprobs, &group.completions[range]));
        }
        Ok((logprobs, (entropy / f64::from(count.max(1) as u32)) as f32))
    }

    pub(crate) fn logprobs_and_gradient<F>(
        &self,
        adapter: &Adapter,
        group: &TrainGroup<'_>,
        loss_gradient: F,
    ) -> Result<Pass, TrainError>
    where
        F: FnOnce(&[Vec<f32>]) -> Vec<Vec<f32>>,
    {
        let parts = self.parts(group)?;
        let mut gradient = vec![0.0; adapter.shape().parameters()];
        if let [_] = parts.as_slice() {
            let packed = Packed::new(group.prompt, &group.completions);
            let mut tape = Vec::with_capacity(self.model.layers.len());
            let hidden = self.forward(&packed, Some(&mut tape));
            let scores = self.head.score(&hidden, &packed.entries, true);
            let logprobs = split(&scores.logprobs, &group.completions);
            let entropy_mean = scores.entropies.iter().sum::<f32>() / scores.entropies.len().max(1) as f32;
            let derivatives = loss_gradient(&logprobs);
            check_derivatives(&derivatives, &group.completions)?;
            let derivatives = derivatives.concat();
            if derivatives.iter().any(|&value| value != 0.0) {
                let hidden_gradient = scores.hidden_gradient(&packed.entries, &derivatives, &hidden);
                self.backward(adapter, &packed, tape, hidden_gradient, &mut gradient);
            }
            return Ok(Pass {
                logprobs,
                gradient,
                entropy_mean,
            });
        }
        // The loss needs all log-probabilities before the first derivative: one pass more.
        let (logprobs, entropy_mean) = self.logprobs(group)?;
        let derivatives = loss_gradient(&logprobs);
        check_derivatives(&derivatives, &group.completions)?;
        for range in parts {
            let derivatives = derivatives[range.clone()].concat();
            if derivatives.iter().all(|&value| value == 0.0) {
                continue;
            }
            let packed = Packed::new(group.prompt, &group.completions[range]);
            let mut tape = Vec::with_capacity(self.model.layers.len());
            let hidden = self.forward(&packed, Some(&mut tape));
            let scores = self.head.score(&hidden, &packed.entries, true);
            let hidden_gradient = scores.hidden_gradient(&packed.entries, &derivatives, &hidden);
            self.backward(adapter, &packed, tape, hidden_gradient, &mut gradient);
        }
        Ok(Pass {
            logprobs,
            gradient,
            entropy_mean,
        })
    }

    fn forward(&self, packed: &Packed, tape: Option<&mut Vec<LayerTape>>) -> Matrix {
        self.model.forward_packed(
            &packed.tokens,
            &packed.positions,
            &packed.spans,
            self.additions,
            tape,
        )
    }

    /// Checks a group and cuts it into runs of completions that fit `max_tokens`.
    fn parts(&self, group: &TrainGroup<'_>) -> Result<Vec<Range<usize>>, TrainError> {
        self.model.check_row(0, group.prompt, 0)?;
        let mut parts: Vec<Range<usize>> = Vec::new();
        let mut tokens = 0;
        for (index, completion) in group.completions.iter().enumerate() {
            self.model.check_row(index, completion, group.prompt.len())?;
            if let Some(&token) = completion.iter().find(|&&token| !self.head.sampleable(token)) {
                return Err(TrainError::Masked {
                    completion: index,
                    token,
                });
            }
            let own = completion.len() - 1;
            let alone = group.prompt.len() + own;
            if alone > group.max_tokens {
                return Err(TrainError::TooLong {
                    completion: index,
                    tokens: alone,
                    max_tokens: group.max_tokens,
                });
            }
            match parts.last_mut() {
                Some(last) if tokens + own <= group.max_tokens => {
                    last.end += 1;
                    tokens += own;
                }
                _ => {
                    parts.push(index..index + 1);
                    tokens = alone;
                }
            }
        }
        Ok(parts)
    }

    /// Back through the blocks, from the gradient of the last block's output `[N, hidden]`.
    fn backward(
        &self,
        adapter: &Adapter,
        packed: &Packed,
        mut tape: Vec<LayerTape>,
        mut gradient: Matrix,
        sums: &mut [f32],
    ) {
        let (model, shape) = (self.model, adapter.shape());
        let (heads, eps, scale) = (model.heads(), model.eps(), adapter.scale());
        let additions = self.additions.unwrap_or_default();
        for (index, (layer, addition)) in model.layers.iter().zip(additions).enumerate().rev() {
            let Some(LayerTape {
                input,
                projected,
                attended,
                middle,
                gate_up,
            }) = tape.pop()
            else {
                break;
            };
            let mut factors = factor_gradients(shape, index, sums);
            let (projection_factors, rest) = factors.split_at_mut(3);
            let (output_factors, rest) = rest.split_at_mut(1);
            let (gate_up_factors, down_factors) = rest.split_at_mut(2);

            let inner = gate_up.swiglu();
            let inner_gradient =
                inner.linear_backward(&layer.down, &addition.down, scale, &gradient, down_factors);
            inner.recycle();
            let gate_up_gradient = gate_up.swiglu_backward(&inner_gradient);
            inner_gradient.recycle();
            let normed = middle.rms_norm(&layer.feed_forward_norm, eps);
            let normed_gradient = normed.linear_backward(
                &layer.gate_up,
                &addition.gate_up,
                scale,
                &gate_up_gradient,
                gate_up_factors,
            );
            [normed, gate_up_gradient].into_iter().for_each(Matrix::recycle);
            gradient =
                gradient.add_rms_norm_backward(&normed_gradient, &middle, &layer.feed_forward_norm, eps);
            [normed_gradient, middle].into_iter().for_each(Matrix::recycle);

            let attended_gradient =
                attended.linear_backward(&layer.output, &addition.output, scale, &gradient, output_factors);
            let projected_gradient = projected
                .attend_backward(&attended, &attended_gradient, &packed.spans, heads)
                .rotate(&model.rotary, heads.queries + heads.keys, &packed.positions, -1.0);
            [projected, attended, attended_gradient]
                .into_iter()
                .for_each(Matrix::recycle);
            let normed = input.rms_norm(&layer.attention_norm, eps);
            let normed_gradient = normed.linear_backward(
                &layer.projections,
                &addition.projections,
                scale,
                &projected_gradient,
                projection_factors,
            );
            [normed, projected_gradient].into_iter().for_each(Matrix::recycle);
            gradient = gradient.add_rms_norm_backward(&normed_gradient, &input, &layer.attention_norm, eps);
            [normed_gradient, input].into_iter().for_each(Matrix::recycle);
        }
    }
}

impl Packed {
    /// The prompt, then each completion without its last token, which is only ever predicted.
    fn new(prompt: &[u32], completions: &[&[u32]]) -> Self {
        let mut tokens = prompt.to_vec();
        let mut positions: Vec<u32> = (0..prompt.len() as u32).collect();
        let mut spans = vec![PackedSpan {
            start: 0,
            rows: prompt.len(),
            prefix: 0..0,
        }];
        let mut entries = Entries::default();
        for completion in completions {
            let (start, rows) = (tokens.len(), completion.len() - 1);
            entries.rows.push(prompt.len() - 1);
            entries.rows.extend(start..start + rows);
            entries.targets.extend_from_slice(completion);
            tokens.extend_from_slice(&completion[..rows]);
            positions.extend((prompt.len() as u32..).take(rows));
            if rows > 0 {
                spans.push(PackedSpan {
                    start,
                    rows,
                    prefix: 0..prompt.len(),
                });
            }
        }
        Self {
            tokens,
            positions,
            spans,
            entries,
        }
    }
}

/// The gradients of the seven maps of one block, in the order of the flat parameters.
fn factor_gradients<'a>(shape: &AdapterShape, layer: usize, sums: &'a mut [f32]) -> Vec<FactorGradients<'a>> {
    let mut rest = &mut sums[shape.down(layer, 0).start..];
    (0..7)
        .map(|map| {
            let (down, after) = std::mem::take(&mut rest).split_at_mut(shape.down(layer, map).len());
            let (up, after) = after.split_at_mut(shape.up(layer, map).len());
            rest = after;
            FactorGradients { down, up }
        })
        .collect()
}

fn split(values: &[f32], completions: &[&[u32]]) -> Vec<Vec<f32>> {
    let mut rest = values;
    completions
        .iter()
        .map(|completion| {
            let (own, after) = rest.split_at(completion.len());
            rest = after;
            own.to_vec()
        })
        .collect()
}

fn check_derivatives(derivatives: &[Vec<f32>], completions: &[&[u32]]) -> Result<(), TrainError> {
    for (index, completion) in completions.iter().enumerate() {
        let found = derivatives.get(index).map_or(0, Vec::len);
        if found != completion.len() {
            return Err(TrainError::LossShape {
                completion: index,
                found,
                expected: completion.len(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
