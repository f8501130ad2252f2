//! The language-model head on the positions that predict completion tokens, in chunks of rows.
//!
//! The derivative of a log-probability with respect to the hidden state does not depend on the loss:
//! with logits `z = h·W` and target `t` it is `(onehot(t) - softmax(z))·Wᵀ`. So one pass over the
//! chunks gives log-probabilities and these directions, and the loss's derivatives scale them later.

use rayon::prelude::*;

use crate::host::buffers;
use crate::host::math::{add_scaled, exp_shifted_sums, maximum};
use crate::host::panels::{Panels, Target, View};
use crate::matrix::{Matrix, Weight, mixed};
use crate::model::Model;
use crate::tensors;

/// Rows of logits that exist at a time.
const CHUNK: usize = 192;
/// What masked logits become: its exponential is 0 and its product with 0 too.
const MASKED: f32 = -1e30;

/// Which row of hidden states predicts which token.
#[derive(Default)]
pub(super) struct Entries {
    pub(super) rows: Vec<usize>,
    pub(super) targets: Vec<u32>,
}

/// Scores of all entries.
pub(super) struct Scores {
    pub(super) logprobs: Vec<f32>,
    pub(super) entropies: Vec<f32>,
    /// `[entries, hidden]`: derivative of each log-probability with respect to the block output's row.
    directions: Vec<f32>,
}

/// The final norm and the head of a model, restricted to the ids that are sampled.
pub(super) struct Head<'a> {
    model: &'a Model,
    sampleable: &'a [bool],
}

impl<'a> Head<'a> {
    pub(super) fn new(model: &'a Model, sampleable: &'a [bool]) -> Self {
        Self { model, sampleable }
    }

    pub(super) fn sampleable(&self, token: u32) -> bool {
        self.sampleable.get(token as usize).copied().unwrap_or(false)
    }

    /// Scores each entry on the final hidden states `[N, hidden]`; directions only if wanted.
    pub(super) fn score(&self, hidden: &Matrix, entries: &Entries, directions: bool) -> Scores {
        let transposed = match &self.model.head.weight {
            Weight::Host(panels) if directions => Some(panels.transposed()),
            _ => None,
        };
        let width = self.model.config.hidden_size;
        let mut scores = Scores {
            logprobs: Vec::with_capacity(entries.rows.len()),
            entropies: Vec::with_capacity(entries.rows.len()),
            directions: Vec::with_capacity(if directions { entries.rows.len() * width } else { 0 }),
        };
        let (norm, eps) = (&self.model.final_norm, self.model.eps());
        for (rows, targets) in entries.rows.chunks(CHUNK).zip(entries.targets.chunks(CHUNK)) {
            let chunk = hidden.select(rows);
            let normed = chunk.rms_norm(norm, eps);
            let normed_directions = match (&self.model.head.weight, normed) {
                (Weight::Host(head), Matrix::Host { values, .. }) => {
                    self.score_host(&values, head, transposed.as_ref(), targets, &mut scores)
                }
                (Weight::Device(head), Matrix::Device(normed)) => {
                    let mask = self
                        .sampleable
                        .iter()
                        .map(|&keep| if keep { 0.0 } else { MASKED })
                        .collect();
                    let mask = tensors::vector(mask, &normed.device());
                    let rows = tensors::head_rows(normed, head.clone(), mask, targets, directions);
                    scores.logprobs.extend(rows.logprobs);
                    scores.entropies.extend(rows.entropies);
                    rows.directions.map(Matrix::Device)
                }
                _ => mixed(),
            };
            if let Some(gradient) = normed_directions {
                let zero = Matrix::new(vec![0.0; rows.len() * width], width, &self.model.device);
                let through_norm = zero.add_rms_norm_backward(&gradient, &chunk, norm, eps);
                scores.directions.extend(through_norm.into_host());
            }
        }
        if let Some(transposed) = transposed {
            transposed.recycle();
        }
        scores
    }

    /// Scores a chunk in host memory; returns its directions if the transposed head is given.
    fn score_host(
        &self,
        normed: &[f32],
        head: &Panels,
        transposed: Option<&Panels>,
        targets: &[u32],
        scores: &mut Scores,
    ) -> Option<Matrix> {
        let (hidden, vocabulary) = (self.model.config.hidden_size, self.model.config.vocab_size);
        let rows = targets.len();
        let mut logits = buffers::take(rows * vocabulary);
        head.multiply(
            View {
                values: normed,
                rows,
                stride: hidden,
            },
            Target {
                values: &mut logits,
                stride: vocabulary,
                offset: 0,
                add: false,
            },
        );
        let results: Vec<(f32, f32)> = logits
            .par_chunks_mut(vocabulary)
            .zip(targets)
            .map(|(logits, &target)| self.score_row(logits, target, transposed.is_some()))
            .collect();
        scores.logprobs.extend(results.iter().map(|(logprob, _)| logprob));
        scores
            .entropies
            .extend(results.iter().map(|(_, entropy)| entropy));
        let directions = transposed.map(|transposed| {
            let mut values = vec![0.0; rows * hidden];
            transposed.multiply(
                View {
                    values: &logits,
                    rows,
                    stride: vocabulary,
                },
                Target {
                    values: &mut values,
                    stride: hidden,
                    offset: 0,
                    add: false,
                },
            );
            Matrix::Host {
                values,
                columns: hidden,
            }
        });
        buffers::give(logits);
        directions
    }

    /// Log-probability and entropy of one row, whose logits become `onehot - softmax` if wanted.
    fn score_row(&self, logits: &mut [f32], target: u32, difference: bool) -> (f32, f32) {
        for (logit, &keep) in logits.iter_mut().zip(self.sampleable) {
            *logit = if keep { *logit } else { MASKED };
        }
        let target = target as usize;
        let peak = maximum(logits);
        let above = logits[target] - peak;
        let (sum, weighted) = exp_shifted_sums(logits, peak);
        if difference {
            let scale = -sum.recip();
            logits.iter_mut().for_each(|value| *value *= scale);
            logits[target] += 1.0;
        }
        (above - sum.ln(), sum.ln() - weighted / sum)
    }
}

impl Scores {
    /// The loss's gradient with respect to the hidden states, from its derivative for each log-probability.
    pub(super) fn hidden_gradient(&self, entries: &Entries, derivatives: &[f32], hidden: &Matrix) -> Matrix {
        let width = hidden.columns();
        let mut gradient = vec![0.0; hidden.rows() * width];
        for ((&row, &derivative), direction) in entries
            .rows
            .iter()
            .zip(derivatives)
            .zip(self.directions.chunks_exact(width))
        {
            add_scaled(
                &mut gradient[row * width..(row + 1) * width],
                derivative,
                direction,
            );
        }
        match hidden {
            Matrix::Host { .. } => Matrix::Host {
                values: gradient,
                columns: width,
            },
            Matrix::Device(tensor) => Matrix::Device(tensors::matrix(gradient, width, &tensor.device())),
        }
    }
}
