//! The operations of a decoder as burn tensor operations, for devices other than the CPU.
//!
//! Each function has a fused twin in [`crate::host`]; the tests compare the two on the CPU.

use std::ops::Range;

use burn::DispatchDevice;
use burn::tensor::{Int, TensorData, activation, s};

use crate::backward::FactorGradients;
use crate::device::Tensor;
use crate::host::attention::{Heads, PackedSpan};
use crate::host::math::RotaryTable;
use crate::matrix::{CachePiece, LowRank, Weight, mixed};

/// `[N, columns]` values on a device.
pub(crate) fn matrix(values: Vec<f32>, columns: usize, device: &DispatchDevice) -> Tensor<2> {
    let rows = values.len() / columns;
    Tensor::from_data(TensorData::new(values, [rows, columns]), device)
}

/// `[C]` values on a device.
pub(crate) fn vector(values: Vec<f32>, device: &DispatchDevice) -> Tensor<1> {
    let len = values.len();
    Tensor::from_data(TensorData::new(values, [len]), device)
}

/// `[inner, columns]`, column by column.
pub(crate) fn weight(
    inner: usize,
    columns: usize,
    device: &DispatchDevice,
    fill: impl Fn(usize, &mut [f32]) + Sync,
) -> Tensor<2> {
    use rayon::prelude::*;

    let mut rows = vec![0.0; inner * columns];
    rows.par_chunks_mut(inner)
        .enumerate()
        .for_each(|(column, out)| fill(column, out));
    let tensor = matrix(rows, inner, device).transpose();
    // A product with zero-copy views of a transposed weight is slow: lay it out once.
    tensor
        .clone()
        .slice_assign(s![0..1, 0..1], tensor.slice(s![0..1, 0..1]))
}

/// The values in host memory.
pub(crate) fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    // All tensors of this crate are f32, the only way this conversion can fail.
    tensor.into_data().into_vec().expect("tensor is not f32")
}

/// Rows by index.
pub(crate) fn select(tensor: Tensor<2>, rows: &[usize]) -> Tensor<2> {
    let device = tensor.device();
    let indices: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
    let indices = burn::tensor::Tensor::<burn::Dispatch, 1, Int>::from_data(
        TensorData::new(indices, [rows.len()]),
        &device,
    );
    tensor.select(0, indices)
}

/// `x / √(mean(x²) + eps) * weight`
pub(crate) fn rms_norm(x: Tensor<2>, weight: Tensor<1>, eps: f32) -> Tensor<2> {
    let scale = inverse_rms(x.clone(), eps);
    x * scale * weight.unsqueeze()
}

/// `[N, 1]`
fn inverse_rms(x: Tensor<2>, eps: f32) -> Tensor<2> {
    (x.clone() * x).mean_dim(1).add_scalar(eps).sqrt().recip()
}

/// The derivative of [`rms_norm`] with respect to `x`.
pub(crate) fn rms_norm_backward(gradient: Tensor<2>, x: Tensor<2>, weight: Tensor<1>, eps: f32) -> Tensor<2> {
    let scale = inverse_rms(x.clone(), eps);
    let weighted = gradient * weight.unsqueeze();
    let along = (weighted.clone() * x.clone()).mean_dim(1) * scale.clone() * scale.clone();
    (weighted - x * along) * scale
}

/// `silu(gate) * up` of rows with gate and up side by side.
pub(crate) fn swiglu(gate_up: Tensor<2>) -> Tensor<2> {
    let [_, width] = gate_up.dims();
    let gate = gate_up.clone().slice(s![.., 0..width / 2]);
    let up = gate_up.slice(s![.., width / 2..width]);
    activation::silu(gate) * up
}

/// The derivative of [`swiglu`] with respect to its input.
pub(crate) fn swiglu_backward(gate_up: Tensor<2>, gradient: Tensor<2>) -> Tensor<2> {
    let [_, width] = gate_up.dims();
    let gate = gate_up.clone().slice(s![.., 0..width / 2]);
    let up = gate_up.slice(s![.., width / 2..width]);
    let sigmoid = activation::sigmoid(gate.clone());
    let silu = gate * sigmoid.clone();
    // silu' = σ (1 + x (1 - σ)) = σ + silu (1 - σ)
    let slope = sigmoid.clone() + silu.clone() * (sigmoid.neg().add_scalar(1.0));
    Tensor::cat(vec![gradient.clone() * up * slope, gradient * silu], 1)
}

/// Rotates the first `heads` heads of each row; see the host kernel.
pub(crate) fn rotate(
    x: Tensor<2>,
    table: &RotaryTable,
    heads: usize,
    positions: &[u32],
    direction: f32,
) -> Tensor<2> {
    let device = x.device();
    let [rows, columns] = x.dims();
    let half = table.at(0).0.len();
    let mut cosines = Vec::with_capacity(rows * half);
    let mut sines = Vec::with_capacity(rows * half);
    for &position in positions {
        let (cosine, sine) = table.at(position as usize);
        cosines.extend_from_slice(cosine);
        sines.extend(sine.iter().map(|sine| sine * direction));
    }
    let cosines = matrix(cosines, half, &device).reshape([rows, 1, half]);
    let sines = matrix(sines, half, &device).reshape([rows, 1, half]);
    let width = heads * 2 * half;
    let rotated = x.clone().slice(s![.., 0..width]).reshape([rows, heads, 2 * half]);
    let first = rotated.clone().slice(s![.., .., 0..half]);
    let second = rotated.slice(s![.., .., half..2 * half]);
    let left = first.clone() * cosines.clone() - second.clone() * sines.clone();
    let right = second * cosines + first * sines;
    let rotated: Tensor<2> = Tensor::cat(vec![left, right], 2).reshape([rows, width]);
    if width == columns {
        rotated
    } else {
        Tensor::cat(vec![rotated, x.slice(s![.., width..columns])], 1)
    }
}

/// Adds `(x · down) · up` of each part to the rows `rows` of `out`; the parts together are as wide as `out`.
pub(crate) fn add_low_rank(
    x: Tensor<2>,
    rows: Range<usize>,
    out: Tensor<2>,
    down: Tensor<2>,
    ups: Vec<Tensor<2>>,
    rank: usize,
) -> Tensor<2> {
    let [_, columns] = out.dims();
    let middle = x.slice(s![rows.clone(), ..]).matmul(down);
    let parts = ups
        .into_iter()
        .enumerate()
        .map(|(index, up)| {
            middle
                .clone()
                .slice(s![.., index * rank..(index + 1) * rank])
                .matmul(up)
        })
        .collect();
    let sum = out.clone().slice(s![rows.clone(), ..]) + Tensor::cat(parts, 1);
    out.slice_assign(s![rows, 0..columns], sum)
}

/// Keys and values of some rows of `[N, (Hq + 2 * Hkv) * D]`.
pub(crate) fn cache_piece(projected: Tensor<2>, rows: Range<usize>, heads: Heads) -> CachePiece<'static> {
    let key = heads.queries * heads.size;
    let value = key + heads.keys * heads.size;
    CachePiece::Device {
        keys: projected.clone().slice(s![rows.clone(), key..value]),
        values: projected.slice(s![rows, value..value + heads.keys * heads.size]),
    }
}

/// Causal attention of spans of rows over the pieces of their contexts, span by span.
pub(crate) fn attend(
    projected: Tensor<2>,
    spans: Vec<(Range<usize>, Vec<CachePiece<'_>>)>,
    heads: Heads,
) -> Tensor<2> {
    let outputs = spans
        .into_iter()
        .map(|(rows, context)| {
            let (keys, values) = context_tensors(context);
            let queries = projected.clone().slice(s![rows, 0..heads.queries * heads.size]);
            let weights = attention_weights(queries, keys, heads);
            merge_heads(weights.matmul(split_keys(values, heads)), heads)
        })
        .collect();
    Tensor::cat(outputs, 0)
}

/// The derivative of [`attend`] for one span: `[T, Hq * D]`, `[S, Hkv * D]` and `[S, Hkv * D]` for queries, keys and values.
pub(crate) fn attend_backward(
    queries: Tensor<2>,
    keys: Tensor<2>,
    values: Tensor<2>,
    gradient: Tensor<2>,
    heads: Heads,
) -> [Tensor<2>; 3] {
    let weights = attention_weights(queries.clone(), keys.clone(), heads);
    let gradient = split_queries(gradient, heads);
    let value_gradient = weights.clone().transpose().matmul(gradient.clone());
    let weight_gradient = gradient.matmul(split_keys(values, heads).transpose());
    let delta = (weight_gradient.clone() * weights.clone()).sum_dim(2);
    let score_gradient = (weight_gradient - delta) * weights / (heads.size as f64).sqrt();
    let query_gradient = score_gradient.clone().matmul(split_keys(keys, heads));
    let key_gradient = score_gradient.transpose().matmul(split_queries(queries, heads));
    [
        merge_heads(query_gradient, heads),
        merge_keys(key_gradient),
        merge_keys(value_gradient),
    ]
}

/// Joins the pieces of a context.
pub(crate) fn context_tensors(context: Vec<CachePiece<'_>>) -> (Tensor<2>, Tensor<2>) {
    let (keys, values) = context
        .into_iter()
        .map(|piece| match piece {
            CachePiece::Device { keys, values } => (keys, values),
            CachePiece::Host(_) => mixed(),
        })
        .unzip();
    (Tensor::cat(keys, 0), Tensor::cat(values, 0))
}

/// `softmax(Q Kᵀ / √D)` with later positions hidden: `[Hkv, group * T, S]`.
fn attention_weights(queries: Tensor<2>, keys: Tensor<2>, heads: Heads) -> Tensor<3> {
    let device = queries.device();
    let ([tokens, _], [positions, _]) = (queries.dims(), keys.dims());
    let scores = split_queries(queries, heads).matmul(split_keys(keys, heads).transpose());
    let mut mask = vec![0.0; tokens * positions];
    for (token, row) in mask.chunks_exact_mut(positions).enumerate() {
        row[positions - tokens + token + 1..].fill(f32::NEG_INFINITY);
    }
    let mask = matrix(mask, positions, &device)
        .repeat_dim(0, heads.group())
        .unsqueeze::<3>();
    activation::softmax(scores / (heads.size as f64).sqrt() + mask, 2)
}

/// `[T, Hq * D]` to `[Hkv, group * T, D]`
fn split_queries(rows: Tensor<2>, heads: Heads) -> Tensor<3> {
    let [tokens, _] = rows.dims();
    rows.reshape([tokens, heads.keys, heads.group(), heads.size])
        .permute([1, 2, 0, 3])
        .reshape([heads.keys, heads.group() * tokens, heads.size])
}

/// `[Hkv, group * T, D]` to `[T, Hq * D]`
fn merge_heads(rows: Tensor<3>, heads: Heads) -> Tensor<2> {
    let tokens = rows.dims()[1] / heads.group();
    rows.reshape([heads.keys, heads.group(), tokens, heads.size])
        .permute([2, 0, 1, 3])
        .reshape([tokens, heads.queries * heads.size])
}

/// `[S, Hkv * D]` to `[Hkv, S, D]`
fn split_keys(rows: Tensor<2>, heads: Heads) -> Tensor<3> {
    let [positions, _] = rows.dims();
    rows.reshape([positions, heads.keys, heads.size]).swap_dims(0, 1)
}

/// `[Hkv, S, D]` to `[S, Hkv * D]`
fn merge_keys(rows: Tensor<3>) -> Tensor<2> {
    let [heads, positions, size] = rows.dims();
    rows.swap_dims(0, 1).reshape([positions, heads * size])
}

/// The derivative of the low-rank additions: adds to `factors`, and returns `sum` plus the input's gradient.
pub(crate) fn low_rank_backward(
    low_rank: &LowRank,
    scale: f32,
    x: Tensor<2>,
    gradient: Tensor<2>,
    factors: &mut [FactorGradients<'_>],
    sum: Tensor<2>,
) -> Tensor<2> {
    let Weight::Device(down) = &low_rank.down else {
        mixed()
    };
    let middle = x.clone().matmul(down.clone());
    let mut middle_gradients = Vec::with_capacity(low_rank.parts.len());
    for (index, (part, factors)) in low_rank.parts.iter().zip(factors).enumerate() {
        let Weight::Device(up) = &part.up else { mixed() };
        let columns = index * low_rank.rank..(index + 1) * low_rank.rank;
        let part_gradient = gradient
            .clone()
            .slice(s![.., part.offset..part.offset + part.columns]);
        let middle_gradient = part_gradient.clone().matmul(up.clone().transpose());
        let up_gradient = part_gradient
            .transpose()
            .matmul(middle.clone().slice(s![.., columns]))
            * scale;
        add_to(factors.up, &host(up_gradient));
        add_to(
            factors.down,
            &host(middle_gradient.clone().transpose().matmul(x.clone())),
        );
        middle_gradients.push(middle_gradient);
    }
    sum + Tensor::cat(middle_gradients, 1).matmul(down.clone().transpose())
}

fn add_to(sum: &mut [f32], values: &[f32]) {
    for (sum, value) in sum.iter_mut().zip(values) {
        *sum += value;
    }
}

/// The derivative of attention of a packed batch over itself, for `[N, (Hq + 2 * Hkv) * D]` rows.
pub(crate) fn attend_packed_backward(
    projected: Tensor<2>,
    gradient: Tensor<2>,
    spans: &[PackedSpan],
    heads: Heads,
) -> Tensor<2> {
    let [_, width] = projected.dims();
    let key = heads.queries * heads.size;
    let value = key + heads.keys * heads.size;
    let mut out = projected.zeros_like();
    for span in spans {
        let own = span.start..span.start + span.rows;
        let mut pieces = vec![cache_piece(projected.clone(), own.clone(), heads)];
        if !span.prefix.is_empty() {
            pieces.insert(0, cache_piece(projected.clone(), span.prefix.clone(), heads));
        }
        let (keys, values) = context_tensors(pieces);
        let queries = projected.clone().slice(s![own.clone(), 0..key]);
        let gradient = gradient.clone().slice(s![own.clone(), ..]);
        let [queries, keys, values] = attend_backward(queries, keys, values, gradient, heads);
        out = add_part(out, own.clone(), 0..key, queries);
        let prefix = span.prefix.len();
        for (columns, context) in [(key..value, keys), (value..width, values)] {
            if prefix > 0 {
                out = add_part(
                    out,
                    span.prefix.clone(),
                    columns.clone(),
                    context.clone().slice(s![0..prefix, ..]),
                );
            }
            out = add_part(
                out,
                own.clone(),
                columns,
                context.slice(s![prefix..prefix + span.rows, ..]),
            );
        }
    }
    out
}

fn add_part(out: Tensor<2>, rows: Range<usize>, columns: Range<usize>, part: Tensor<2>) -> Tensor<2> {
    let sum = out.clone().slice(s![rows.clone(), columns.clone()]) + part;
    out.slice_assign(s![rows, columns], sum)
}

/// Log-probabilities, entropies, and if wanted the derivatives of the log-probabilities.
pub(crate) struct HeadRows {
    /// `[N]`
    pub(crate) logprobs: Vec<f32>,
    /// `[N]`
    pub(crate) entropies: Vec<f32>,
    /// `[N, hidden]`: derivative of each row's log-probability with respect to its normed hidden state.
    pub(crate) directions: Option<Tensor<2>>,
}

/// Log-probabilities of `targets` under the softmax of `normed · weight + mask`.
///
/// # Shapes
/// - `normed`: `[N, hidden]`, `weight`: `[hidden, V]`, `mask`: `[V]`, 0 or a large negative number
pub(crate) fn head_rows(
    normed: Tensor<2>,
    weight: Tensor<2>,
    mask: Tensor<1>,
    targets: &[u32],
    directions: bool,
) -> HeadRows {
    let device = normed.device();
    let logs = activation::log_softmax(normed.matmul(weight.clone()) + mask.unsqueeze(), 1);
    let indices: Vec<i64> = targets.iter().map(|&target| i64::from(target)).collect();
    let indices = burn::tensor::Tensor::<burn::Dispatch, 2, Int>::from_data(
        TensorData::new(indices, [targets.len(), 1]),
        &device,
    );
    let probabilities = logs.clone().exp();
    let entropies = (probabilities.clone() * logs.clone()).sum_dim(1).neg();
    let logprobs = logs.gather(1, indices.clone());
    let directions = directions.then(|| {
        let ones = Tensor::<2>::ones([targets.len(), 1], &device);
        let difference = probabilities
            .neg()
            .scatter(1, indices, ones, burn::tensor::IndexingUpdateOp::Add);
        difference.matmul(weight.transpose())
    });
    HeadRows {
        logprobs: host(logprobs),
        entropies: host(entropies),
        directions,
    }
}
