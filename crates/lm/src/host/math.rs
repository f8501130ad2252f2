//! Exponential, RMSNorm, SwiGLU and rotary embedding with their derivatives, row by row.
//!
//! `N` rows, `C` columns, `D` size of one head. All arithmetic in f32.

use rayon::prelude::*;

use super::{buffers, vectorized};

/// Rows given to a thread at a time.
const ROWS_PER_TASK: usize = 16;

/// `e^x` with a relative error below 2e-7, without branches; 0 below -87, e^88 above 88.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    /// Adding and subtracting 1.5 * 2^23 rounds to the nearest whole number.
    const ROUND: f32 = 12_582_912.0;
    let clamped = x.clamp(-87.0, 88.0);
    let shifted = clamped * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    let rest = (clamped - whole * LN2_HIGH) - whole * LN2_LOW;
    let mut series = 1.987_569_1e-4_f32;
    series = series * rest + 1.398_199_9e-3;
    series = series * rest + 8.333_452e-3;
    series = series * rest + 4.166_579_6e-2;
    series = series * rest + 1.666_666_6e-1;
    series = series * rest + 0.5;
    let power = series * (rest * rest) + rest + 1.0;
    // The low bits of `shifted` hold the whole number in two's complement.
    let exponent = (shifted.to_bits() << 23).wrapping_add(127 << 23);
    let value = power * f32::from_bits(exponent);
    if x < -87.0 { 0.0 } else { value }
}

/// The sum of 16 lanes, in pairs: short chains of additions, and the same order on every processor.
#[inline(always)]
pub(crate) fn sum_lanes(lanes: [f32; 16]) -> f32 {
    let mut eight = [0.0_f32; 8];
    for lane in 0..8 {
        eight[lane] = lanes[lane] + lanes[lane + 8];
    }
    let mut four = [0.0_f32; 4];
    for lane in 0..4 {
        four[lane] = eight[lane] + eight[lane + 4];
    }
    (four[0] + four[2]) + (four[1] + four[3])
}

vectorized! {
    /// Replaces `values` by `exp(values - shift)` and returns their sum.
    pub(crate) fn exp_shifted_sum(values: &mut [f32], shift: f32) -> f32 {
        let mut sums = [0.0_f32; 16];
        let mut chunks = values.chunks_exact_mut(16);
        for chunk in &mut chunks {
            for lane in 0..16 {
                let value = exp(chunk[lane] - shift);
                chunk[lane] = value;
                sums[lane] += value;
            }
        }
        let mut sum = sum_lanes(sums);
        for value in chunks.into_remainder() {
            *value = exp(*value - shift);
            sum += *value;
        }
        sum
    }
}

vectorized! {
    /// Replaces `values` by `exp(values - shift)`; returns their sum and `Σ exp(values - shift) * (values - shift)`.
    pub(crate) fn exp_shifted_sums(values: &mut [f32], shift: f32) -> (f32, f32) {
        let (mut sums, mut weighted) = ([0.0_f32; 16], [0.0_f32; 16]);
        let mut chunks = values.chunks_exact_mut(16);
        for chunk in &mut chunks {
            for lane in 0..16 {
                let difference = chunk[lane] - shift;
                let value = exp(difference);
                chunk[lane] = value;
                sums[lane] += value;
                weighted[lane] += value * difference;
            }
        }
        let (mut sum, mut weighted) = (sum_lanes(sums), sum_lanes(weighted));
        for value in chunks.into_remainder() {
            let difference = *value - shift;
            *value = exp(difference);
            sum += *value;
            weighted += *value * difference;
        }
        (sum, weighted)
    }
}

vectorized! {
    /// The largest value; minus infinity for an empty slice. NaN is passed over.
    pub(crate) fn maximum(values: &[f32]) -> f32 {
        let mut best = [f32::NEG_INFINITY; 16];
        let chunks = values.chunks_exact(16);
        let rest = chunks.remainder();
        for chunk in chunks {
            for lane in 0..16 {
                best[lane] = if chunk[lane] > best[lane] { chunk[lane] } else { best[lane] };
            }
        }
        rest.iter().chain(&best).fold(f32::NEG_INFINITY, |best, &value| if value > best { value } else { best })
    }
}

/// `Σ left[i] * right[i]`; inlined into the kernels that call it in a loop.
#[inline(always)]
pub(crate) fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    let (left_chunks, right_chunks) = (left.chunks_exact(16), right.chunks_exact(16));
    let rest = left_chunks.remainder().iter().zip(right_chunks.remainder());
    let rest = rest.map(|(left, right)| left * right).sum::<f32>();
    for (left, right) in left_chunks.zip(right_chunks) {
        for lane in 0..16 {
            sums[lane] += left[lane] * right[lane];
        }
    }
    sum_lanes(sums) + rest
}

vectorized! {
    /// `target += factor * values`.
    pub(crate) fn add_scaled(target: &mut [f32], factor: f32, values: &[f32]) {
        for (target, value) in target.iter_mut().zip(values) {
            *target += factor * value;
        }
    }
}

/// Divides each row by its root mean square and multiplies by `weight`: `x / √(mean(x²) + eps) * weight`.
///
/// # Shapes
/// - `x`: `[N, C]`, `weight`: `[C]`, returns `[N, C]`
pub(crate) fn rms_norm(x: &[f32], weight: &[f32], eps: f32) -> Vec<f32> {
    let columns = weight.len();
    let mut out = buffers::take(x.len());
    out.par_chunks_mut(columns * ROWS_PER_TASK)
        .zip(x.par_chunks(columns * ROWS_PER_TASK))
        .for_each(|(out, x)| {
            for (out, x) in out.chunks_exact_mut(columns).zip(x.chunks_exact(columns)) {
                rms_norm_row(x, weight, eps, out);
            }
        });
    out
}

vectorized! {
    fn rms_norm_row(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
        let scale = inverse_rms(x, eps);
        for ((out, x), weight) in out.iter_mut().zip(x).zip(weight) {
            *out = x * scale * weight;
        }
    }
}

#[inline(always)]
fn inverse_rms(x: &[f32], eps: f32) -> f32 {
    (dot(x, x) / x.len() as f32 + eps).sqrt().recip()
}

/// Adds the derivative of [`rms_norm`] with respect to `x` to `sum`.
///
/// # Shapes
/// - `gradient` (of the output), `x`, `sum`: `[N, C]`, `weight`: `[C]`
pub(crate) fn add_rms_norm_backward(gradient: &[f32], x: &[f32], weight: &[f32], eps: f32, sum: &mut [f32]) {
    let columns = weight.len();
    sum.par_chunks_mut(columns)
        .zip(x.par_chunks(columns))
        .zip(gradient.par_chunks(columns))
        .with_min_len(ROWS_PER_TASK)
        .for_each(|((sum, x), gradient)| add_rms_norm_backward_row(gradient, x, weight, eps, sum));
}

vectorized! {
    fn add_rms_norm_backward_row(gradient: &[f32], x: &[f32], weight: &[f32], eps: f32, sum: &mut [f32]) {
        let scale = inverse_rms(x, eps);
        let mut along = 0.0;
        for ((gradient, x), weight) in gradient.iter().zip(x).zip(weight) {
            along += gradient * weight * x;
        }
        let along = along * scale * scale / x.len() as f32;
        for (((sum, gradient), x), weight) in sum.iter_mut().zip(gradient).zip(x).zip(weight) {
            *sum += scale * (gradient * weight - x * along);
        }
    }
}

/// `silu(gate) * up`, where each row holds the gate columns and then the up columns.
///
/// # Shapes
/// - `gate_up`: `[N, 2 * C]`, returns `[N, C]`
pub(crate) fn swiglu(gate_up: &[f32], columns: usize) -> Vec<f32> {
    let mut out = buffers::take(gate_up.len() / 2);
    out.par_chunks_mut(columns)
        .zip(gate_up.par_chunks(2 * columns))
        .with_min_len(ROWS_PER_TASK / 4)
        .for_each(|(out, gate_up)| {
            let (gate, up) = gate_up.split_at(columns);
            swiglu_row(gate, up, out);
        });
    out
}

vectorized! {
    fn swiglu_row(gate: &[f32], up: &[f32], out: &mut [f32]) {
        for ((out, gate), up) in out.iter_mut().zip(gate).zip(up) {
            *out = gate / (1.0 + exp(-gate)) * up;
        }
    }
}

/// Replaces the inputs of [`swiglu`] by their derivatives.
///
/// # Shapes
/// - `gate_up`: `[N, 2 * C]`, `gradient` (of the output): `[N, C]`
pub(crate) fn swiglu_backward(gate_up: &mut [f32], gradient: &[f32], columns: usize) {
    gate_up
        .par_chunks_mut(2 * columns)
        .zip(gradient.par_chunks(columns))
        .with_min_len(ROWS_PER_TASK / 4)
        .for_each(|(gate_up, gradient)| {
            let (gate, up) = gate_up.split_at_mut(columns);
            swiglu_backward_row(gate, up, gradient);
        });
}

vectorized! {
    fn swiglu_backward_row(gate: &mut [f32], up: &mut [f32], gradient: &[f32]) {
        for ((gate, up), gradient) in gate.iter_mut().zip(up).zip(gradient) {
            let sigmoid = 1.0 / (1.0 + exp(-*gate));
            let silu = *gate * sigmoid;
            let slope = sigmoid * (1.0 + *gate * (1.0 - sigmoid));
            *gate = gradient * *up * slope;
            *up = gradient * silu;
        }
    }
}

/// Cosines and sines of the rotary embedding, computed in f64 and kept in f32.
pub(crate) struct RotaryTable {
    /// `[positions, D / 2]` pairs of cosine and sine halves: `D / 2` cosines, then `D / 2` sines.
    rows: Vec<f32>,
    head_dim: usize,
}

impl RotaryTable {
    /// Angles `position * theta^(-2i / D)` for `positions` positions.
    pub(crate) fn new(positions: usize, head_dim: usize, theta: f64) -> Self {
        let half = head_dim / 2;
        let mut rows = vec![0.0; positions * head_dim];
        for (position, row) in rows.chunks_exact_mut(head_dim).enumerate() {
            for index in 0..half {
                let angle = position as f64 * theta.powf(-2.0 * index as f64 / head_dim as f64);
                row[index] = angle.cos() as f32;
                row[half + index] = angle.sin() as f32;
            }
        }
        Self { rows, head_dim }
    }

    /// The `D / 2` cosines and the `D / 2` sines of a position.
    pub(crate) fn at(&self, position: usize) -> (&[f32], &[f32]) {
        self.rows[position * self.head_dim..(position + 1) * self.head_dim].split_at(self.head_dim / 2)
    }

    /// Rotates the first `heads` heads of each row in place: element `i` with element `i + D/2`.
    ///
    /// `direction` is 1 forward, and -1 for the derivative (the transpose is the inverse).
    ///
    /// # Shapes
    /// - `x`: `[N, columns]`, `positions`: `[N]`
    pub(crate) fn rotate(
        &self,
        x: &mut [f32],
        columns: usize,
        heads: usize,
        positions: &[u32],
        direction: f32,
    ) {
        x.par_chunks_mut(columns)
            .zip(positions)
            .with_min_len(ROWS_PER_TASK)
            .for_each(|(row, &position)| {
                let (cosines, sines) = self.at(position as usize);
                rotate_heads(&mut row[..heads * self.head_dim], cosines, sines, direction);
            });
    }
}

vectorized! {
    fn rotate_heads(heads: &mut [f32], cosines: &[f32], sines: &[f32], direction: f32) {
        let half = cosines.len();
        for head in heads.chunks_exact_mut(2 * half) {
            let (first, second) = head.split_at_mut(half);
            for index in 0..half {
                let (left, right) = (first[index], second[index]);
                let (cosine, sine) = (cosines[index], direction * sines[index]);
                first[index] = left * cosine - right * sine;
                second[index] = right * cosine + left * sine;
            }
        }
    }
}
