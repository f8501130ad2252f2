//! The decoder: one forward pass over ragged rows, for prefill, decoding and training alike.
//!
//! All new tokens of all rows lie one after the other in a `[N, hidden]` matrix without padding.
//! `V` is the size of the vocabulary, `Hq`/`Hkv` the heads of queries and of keys, `D` their size.

use std::ops::Range;
use std::sync::Arc;

use crate::cache::Sequence;
use crate::config::{Architecture, ModelConfig};
use crate::device::Device;
use crate::gguf::Gguf;
use crate::host::attention::{Heads, PackedSpan};
use crate::host::buffers;
use crate::host::math::RotaryTable;
use crate::lora::{Adapter, LayerAddition};
use crate::matrix::{Linear, LowRank, Matrix, Vector};
use crate::weights::{Loader, NamedTensors, Part, Source, WeightsError};

/// A decoder with its frozen weights.
pub struct Model {
    pub(crate) config: ModelConfig,
    pub(crate) device: Device,
    pub(crate) layers: Vec<Layer>,
    pub(crate) final_norm: Vector,
    /// `[hidden, V]`
    pub(crate) head: Linear,
    pub(crate) rotary: RotaryTable,
    source: Source,
}

/// One block.
pub(crate) struct Layer {
    pub(crate) attention_norm: Vector,
    /// Queries, keys and values: `[hidden, (Hq + 2 * Hkv) * D]`.
    pub(crate) projections: Linear,
    /// `[Hq * D, hidden]`
    pub(crate) output: Linear,
    pub(crate) feed_forward_norm: Vector,
    /// `[hidden, 2 * intermediate]`
    pub(crate) gate_up: Linear,
    /// `[intermediate, hidden]`
    pub(crate) down: Linear,
}

/// Which positions of a row should yield logits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The last new token only.
    Last,
    /// Every new token.
    All,
    /// None: fill the cache only.
    None,
}

/// New tokens of one sequence.
pub struct Row<'a> {
    /// The cache of what came before; the new tokens are appended.
    pub sequence: &'a mut Sequence,
    /// The new tokens, at least one.
    pub tokens: &'a [u32],
    /// Adapter for this row; rows with different adapters may be mixed.
    pub adapter: Option<&'a Adapter>,
    /// Which logits to return.
    pub logits: Wanted,
}

/// Logits of one row in host memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Logits {
    /// Number of positions.
    pub rows: usize,
    /// `[rows, V]`, row-major.
    pub data: Vec<f32>,
}

/// Input that the model cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A row without new tokens.
    #[error("row {row} has no tokens")]
    NoTokens {
        /// Index of the row in the batch.
        row: usize,
    },
    /// A token id outside of the vocabulary.
    #[error("token {token} of row {row} is not in the vocabulary of {vocabulary} ids")]
    UnknownToken {
        /// Index of the row in the batch.
        row: usize,
        /// The id.
        token: u32,
        /// The number of ids.
        vocabulary: usize,
    },
    /// More positions than the context holds.
    #[error("row {row} would have {positions} positions, the model's context is {context}")]
    ContextOverflow {
        /// Index of the row in the batch.
        row: usize,
        /// Cached and new positions.
        positions: usize,
        /// The context length.
        context: usize,
    },
    /// An adapter that was made for a model of another shape.
    #[error("the adapter of row {row} was made for another model shape")]
    AdapterShape {
        /// Index of the row in the batch.
        row: usize,
    },
}

/// What one layer computed, kept for the backward pass.
pub(crate) struct LayerTape {
    /// `[N, hidden]`, the input of the block.
    pub(crate) input: Matrix,
    /// `[N, (Hq + 2 * Hkv) * D]`, queries and keys rotated.
    pub(crate) projected: Matrix,
    /// `[N, Hq * D]`
    pub(crate) attended: Matrix,
    /// `[N, hidden]`, after the attention's residual.
    pub(crate) middle: Matrix,
    /// `[N, 2 * intermediate]`
    pub(crate) gate_up: Matrix,
}

/// What attention sees.
enum Context<'a, 'b> {
    /// Each span of rows has a cache, which grows by them.
    Cached(&'a mut [Row<'b>]),
    /// The batch itself.
    Packed(&'a [PackedSpan]),
}

impl Model {
    /// Loads the weights of a GGUF file.
    ///
    /// # Errors
    /// A missing, unused or misshapen tensor.
    pub fn from_gguf(gguf: Arc<Gguf>, config: ModelConfig, device: &Device) -> Result<Self, WeightsError> {
        Self::from_source(Source::Gguf(gguf), config, device)
    }

    /// Makes a model of tensors in memory, e.g. a tiny random one.
    ///
    /// # Errors
    /// A missing, unused or misshapen tensor.
    pub fn from_tensors(
        tensors: NamedTensors,
        config: ModelConfig,
        device: &Device,
    ) -> Result<Self, WeightsError> {
        Self::from_source(Source::Memory(Arc::new(tensors)), config, device)
    }

    fn from_source(source: Source, config: ModelConfig, device: &Device) -> Result<Self, WeightsError> {
        let loader = Loader::new(&source, &config, device);
        let layers = (0..config.layers)
            .map(|layer| Layer::load(&loader, &config, layer))
            .collect::<Result<_, _>>()?;
        let (hidden, vocabulary) = (config.hidden_size, config.vocab_size);
        loader.table(EMBEDDING, vocabulary, hidden)?;
        let head = if loader.contains("output.weight") {
            "output"
        } else {
            "token_embd"
        };
        let head = loader.linear(hidden, &[part(head, vocabulary)], false)?;
        let final_norm = loader.vector("output_norm.weight", hidden)?;
        loader.finish()?;
        let rotary = RotaryTable::new(config.context_length, config.head_dim, config.rope_theta);
        Ok(Self {
            config,
            device: device.clone(),
            layers,
            final_norm,
            head,
            rotary,
            source,
        })
    }

    /// The model's shape.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Where the model runs.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// An empty cache for one row.
    pub fn sequence(&self) -> Sequence {
        Sequence::new(self.config.layers, self.heads())
    }

    /// One forward pass over ragged rows; prefill and decoding may be mixed. Appends to each row's cache.
    ///
    /// A row's result does not depend on the rows beside it. On an error no cache has changed.
    ///
    /// # Errors
    /// An empty row, an unknown token, more positions than the context, a foreign adapter.
    ///
    /// # Shapes
    /// - returns `[wanted tokens, V]` logits for each row, `[0, V]` for [`Wanted::None`]
    pub fn forward(&self, rows: &mut [Row<'_>]) -> Result<Vec<Logits>, ModelError> {
        let mut tokens = Vec::new();
        let mut positions = Vec::new();
        let mut additions: Vec<(Range<usize>, &[LayerAddition])> = Vec::new();
        let mut wanted = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            self.check_row(index, row.tokens, row.sequence.len())?;
            let start = tokens.len();
            tokens.extend_from_slice(row.tokens);
            positions.extend((row.sequence.len()..row.sequence.len() + row.tokens.len()).map(|at| at as u32));
            if let Some(adapter) = row.adapter {
                let layers = adapter
                    .layers(self)
                    .ok_or(ModelError::AdapterShape { row: index })?;
                extend_span(&mut additions, start..tokens.len(), layers);
            }
            match row.logits {
                Wanted::None => {}
                Wanted::Last => wanted.push(tokens.len() - 1),
                Wanted::All => wanted.extend(start..tokens.len()),
            }
        }
        if tokens.is_empty() {
            return Ok(Vec::new());
        }
        rows.iter_mut().for_each(|row| row.sequence.begin_append());
        let mut context = Context::Cached(rows);
        let mut hidden = self.embed(&tokens);
        for index in 0..self.layers.len() {
            hidden = self.layer(index, hidden, &positions, &additions, &mut context, None);
        }
        for row in rows.iter_mut() {
            row.sequence.end_append(row.tokens.len());
        }
        let logits = self.logits(&hidden.select(&wanted));
        let mut rest = logits.as_slice();
        let mut results = Vec::with_capacity(rows.len());
        for row in rows.iter() {
            let count = match row.logits {
                Wanted::None => 0,
                Wanted::Last => 1,
                Wanted::All => row.tokens.len(),
            };
            let (own, after) = rest.split_at(count * self.config.vocab_size);
            rest = after;
            results.push(Logits {
                rows: count,
                data: own.to_vec(),
            });
        }
        buffers::give(logits);
        Ok(results)
    }

    /// The forward pass over a packed batch that attends to itself, up to the final norm's input.
    ///
    /// # Shapes
    /// - `tokens`, `positions`: `[N]`; returns `[N, hidden]`
    pub(crate) fn forward_packed(
        &self,
        tokens: &[u32],
        positions: &[u32],
        spans: &[PackedSpan],
        adapter: Option<&[LayerAddition]>,
        mut tape: Option<&mut Vec<LayerTape>>,
    ) -> Matrix {
        let additions: Vec<_> = adapter
            .into_iter()
            .map(|layers| (0..tokens.len(), layers))
            .collect();
        let mut hidden = self.embed(tokens);
        for index in 0..self.layers.len() {
            let tape = tape.as_deref_mut();
            hidden = self.layer(
                index,
                hidden,
                positions,
                &additions,
                &mut Context::Packed(spans),
                tape,
            );
        }
        hidden
    }

    /// Checks tokens that follow `before` cached positions.
    pub(crate) fn check_row(&self, row: usize, tokens: &[u32], before: usize) -> Result<(), ModelError> {
        let (vocabulary, context) = (self.config.vocab_size, self.config.context_length);
        if tokens.is_empty() {
            return Err(ModelError::NoTokens { row });
        }
        if let Some(&token) = tokens.iter().find(|&&token| token as usize >= vocabulary) {
            return Err(ModelError::UnknownToken {
                row,
                token,
                vocabulary,
            });
        }
        let positions = before + tokens.len();
        if positions > context {
            return Err(ModelError::ContextOverflow {
                row,
                positions,
                context,
            });
        }
        Ok(())
    }

    pub(crate) fn heads(&self) -> Heads {
        Heads {
            queries: self.config.heads,
            keys: self.config.kv_heads,
            size: self.config.head_dim,
        }
    }

    pub(crate) fn eps(&self) -> f32 {
        self.config.rms_norm_eps as f32
    }

    /// Final norm and head: `[N, hidden]` to `[N, V]` in host memory.
    fn logits(&self, hidden: &Matrix) -> Vec<f32> {
        if hidden.rows() == 0 {
            return Vec::new();
        }
        hidden
            .rms_norm(&self.final_norm, self.eps())
            .linear(&self.head, &[], None)
            .into_host()
    }

    fn embed(&self, tokens: &[u32]) -> Matrix {
        let hidden = self.config.hidden_size;
        Matrix::new(self.source.rows(EMBEDDING, tokens, hidden), hidden, &self.device)
    }

    /// One block.
    ///
    /// # Shapes
    /// - `input`: `[N, hidden]`, returns `[N, hidden]`
    #[expect(
        clippy::too_many_arguments,
        reason = "one caller, which has each of them at hand"
    )]
    fn layer(
        &self,
        index: usize,
        input: Matrix,
        positions: &[u32],
        additions: &[(Range<usize>, &[LayerAddition])],
        context: &mut Context<'_, '_>,
        tape: Option<&mut Vec<LayerTape>>,
    ) -> Matrix {
        let (layer, heads) = (&self.layers[index], self.heads());
        let low_rank = |part: fn(&LayerAddition) -> &LowRank| -> Vec<(Range<usize>, &LowRank)> {
            additions
                .iter()
                .map(|(rows, layers)| (rows.clone(), part(&layers[index])))
                .collect()
        };
        let normed = input.rms_norm(&layer.attention_norm, self.eps());
        let projected = normed
            .linear(
                &layer.projections,
                &low_rank(|addition| &addition.projections),
                None,
            )
            .rotate(&self.rotary, heads.queries + heads.keys, positions, 1.0);
        normed.recycle();
        let attended = match context {
            Context::Packed(spans) => projected.attend_packed(spans, heads),
            Context::Cached(rows) => attend_cached(rows, index, &projected, heads),
        };
        let (input, residual) = keep(input, tape.is_some());
        let middle = attended.linear(
            &layer.output,
            &low_rank(|addition| &addition.output),
            Some(residual),
        );
        let normed = middle.rms_norm(&layer.feed_forward_norm, self.eps());
        let gate_up = normed.linear(&layer.gate_up, &low_rank(|addition| &addition.gate_up), None);
        normed.recycle();
        let inner = gate_up.swiglu();
        let down = low_rank(|addition| &addition.down);
        let (middle, residual) = keep(middle, tape.is_some());
        let output = inner.linear(&layer.down, &down, Some(residual));
        inner.recycle();
        match (tape, input, middle) {
            (Some(tape), Some(input), Some(middle)) => tape.push(LayerTape {
                input,
                projected,
                attended,
                middle,
                gate_up,
            }),
            _ => [projected, attended, gate_up]
                .into_iter()
                .for_each(Matrix::recycle),
        }
        output
    }
}

/// A matrix to add to, and a copy for the tape if there is one.
fn keep(matrix: Matrix, taped: bool) -> (Option<Matrix>, Matrix) {
    (taped.then(|| matrix.clone()), matrix)
}

/// Appends each row's keys and values to its cache, then attends to the cache.
fn attend_cached(rows: &mut [Row<'_>], layer: usize, projected: &Matrix, heads: Heads) -> Matrix {
    let mut start = 0;
    for row in rows.iter_mut() {
        let end = start + row.tokens.len();
        row.sequence.append(layer, projected, start..end);
        start = end;
    }
    let mut start = 0;
    let spans = rows
        .iter()
        .map(|row| {
            let range = start..start + row.tokens.len();
            start = range.end;
            (range.clone(), row.sequence.context(layer, range.len()))
        })
        .collect();
    projected.attend(spans, heads)
}

/// Appends a span, or widens the last one if it has the same adapter and ends where this begins.
fn extend_span<'a>(
    spans: &mut Vec<(Range<usize>, &'a [LayerAddition])>,
    rows: Range<usize>,
    layers: &'a [LayerAddition],
) {
    match spans.last_mut() {
        Some((last, same)) if last.end == rows.start && std::ptr::eq(*same, layers) => last.end = rows.end,
        _ => spans.push((rows, layers)),
    }
}

const EMBEDDING: &str = "token_embd.weight";

fn part(name: impl Into<String>, rows: usize) -> Part {
    Part {
        name: name.into(),
        rows,
        paired_heads: 0,
    }
}

impl Layer {
    fn load(loader: &Loader<'_>, config: &ModelConfig, index: usize) -> Result<Self, WeightsError> {
        let name = |tensor: &str| format!("blk.{index}.{tensor}");
        let hidden = config.hidden_size;
        let (queries, keys) = (config.heads * config.head_dim, config.kv_heads * config.head_dim);
        let projections = [
            Part {
                paired_heads: config.heads,
                ..part(name("attn_q"), queries)
            },
            Part {
                paired_heads: config.kv_heads,
                ..part(name("attn_k"), keys)
            },
            part(name("attn_v"), keys),
        ];
        let gate_up = [
            part(name("ffn_gate"), config.intermediate_size),
            part(name("ffn_up"), config.intermediate_size),
        ];
        Ok(Self {
            attention_norm: loader.vector(&name("attn_norm.weight"), hidden)?,
            projections: loader.linear(hidden, &projections, config.architecture == Architecture::Qwen2)?,
            output: loader.linear(queries, &[part(name("attn_output"), hidden)], false)?,
            feed_forward_norm: loader.vector(&name("ffn_norm.weight"), hidden)?,
            gate_up: loader.linear(hidden, &gate_up, false)?,
            down: loader.linear(config.intermediate_size, &[part(name("ffn_down"), hidden)], false)?,
        })
    }
}

#[cfg(test)]
mod tests;
