//! Causal grouped-query attention of ragged spans of rows, over keys and values in several pieces.
//!
//! A span is a run of rows of one sequence. Its context is a list of pieces of keys and values (a
//! shared prefix, then its own); the last rows of the last piece belong to the span itself. `N` rows
//! of all spans, `T` rows of one span, `S` positions of its context, `Hq`/`Hkv` heads of queries and
//! of keys and values, `D` size of one head. Scores and softmax in f32.

use rayon::prelude::*;

use super::math::{add_scaled, dot, exp_shifted_sum, maximum};
use super::shared::Shared;

/// Query rows (tokens times heads that share a key head) that a task takes at most.
const TASK_ROWS: usize = 224;

/// Numbers of heads and their size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heads {
    pub(crate) queries: usize,
    pub(crate) keys: usize,
    pub(crate) size: usize,
}

/// Keys and values of some positions in order: row `i` of `keys` starts at `i * stride` and holds `Hkv` heads.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) keys: &'a [f32],
    pub(crate) values: &'a [f32],
    pub(crate) rows: usize,
    pub(crate) stride: usize,
}

/// Rows `start..start + rows` of the queries, and what they attend to.
pub(crate) struct Span<'a> {
    pub(crate) start: usize,
    pub(crate) rows: usize,
    pub(crate) context: Vec<Piece<'a>>,
}

impl Span<'_> {
    /// `S`, the positions of the context with the span's own.
    pub(crate) fn positions(&self) -> usize {
        self.context.iter().map(|piece| piece.rows).sum()
    }
}

/// A share of the work: some tokens of one span, for the query heads of one key head.
struct Task {
    span: usize,
    first: usize,
    tokens: usize,
    head: usize,
}

fn tasks(spans: &[Span<'_>], heads: Heads) -> Vec<Task> {
    let step = (TASK_ROWS / heads.group()).max(1);
    let mut tasks = Vec::new();
    for (index, span) in spans.iter().enumerate() {
        for first in (0..span.rows).step_by(step) {
            for head in 0..heads.keys {
                tasks.push(Task {
                    span: index,
                    first,
                    tokens: step.min(span.rows - first),
                    head,
                });
            }
        }
    }
    tasks
}

impl Heads {
    /// Query heads that share one key head.
    pub(crate) fn group(self) -> usize {
        self.queries / self.keys
    }

    fn scale(self) -> f32 {
        (self.size as f32).sqrt().recip()
    }
}

/// `softmax(Q Kᵀ / √D) V` for every span, each row over the positions up to its own.
///
/// # Shapes
/// - `queries`: `[N, stride]`, whose first `Hq * D` columns are read
/// - returns `[N, Hq * D]`
pub(crate) fn attend(queries: &[f32], stride: usize, spans: &[Span<'_>], heads: Heads) -> Vec<f32> {
    let rows = queries.len() / stride;
    let width = heads.queries * heads.size;
    let mut out = super::buffers::take(rows * width);
    let shared = Shared::new(&mut out);
    tasks(spans, heads)
        .par_iter()
        .with_max_len(1)
        .for_each_init(Scratch::default, |scratch, task| {
            let span = &spans[task.span];
            let rows = task.tokens * heads.group();
            scratch.load(queries, stride, span, task, heads);
            let result = if task.tokens == 1 {
                attend_one(scratch, span, task, heads)
            } else {
                let visible = softmax_scores(scratch, span, task, heads);
                weighted_values(scratch, span, task, heads, visible);
                &scratch.result
            };
            let group = heads.group() * heads.size;
            for (token, result) in result[..rows * heads.size].chunks_exact(group).enumerate() {
                let start = (span.start + task.first + token) * width + task.head * group;
                #[expect(unsafe_code, reason = "tasks write disjoint parts of one matrix")]
                // SAFETY: a task alone writes the heads of its tokens, one part at a time.
                unsafe { shared.part(start, group) }.copy_from_slice(result);
            }
        });
    out
}

/// Gradients of [`attend`] for queries, keys and values of rows that were all in one packed batch.
pub(crate) struct Backward<'a> {
    /// `[N, stride]`: queries, keys and values side by side, as [`attend`] saw them.
    pub(crate) projected: &'a [f32],
    /// `[N, Hq * D]`, what [`attend`] returned.
    pub(crate) attended: &'a [f32],
    /// `[N, Hq * D]`, derivative of the loss with respect to that.
    pub(crate) gradient: &'a [f32],
    pub(crate) heads: Heads,
    /// Per span: its rows, and the rows of the prefix before them.
    pub(crate) spans: &'a [PackedSpan],
}

/// A span whose context is a prefix of rows in the same batch, and its own rows.
#[derive(Clone, Debug)]
pub(crate) struct PackedSpan {
    pub(crate) start: usize,
    pub(crate) rows: usize,
    pub(crate) prefix: std::ops::Range<usize>,
}

impl Backward<'_> {
    /// Derivatives with respect to `projected`.
    ///
    /// # Shapes
    /// - returns `[N, (Hq + 2 * Hkv) * D]`
    pub(crate) fn run(&self) -> Vec<f32> {
        let heads = self.heads;
        let width = (heads.queries + 2 * heads.keys) * heads.size;
        let rows = self.projected.len() / width;
        let mut out = vec![0.0; rows * width];
        let pieces = packed_context(self.projected, heads, self.spans);
        let work: Vec<(usize, usize)> = (0..self.spans.len())
            .flat_map(|span| (0..heads.keys).map(move |head| (span, head)))
            .collect();
        // Spans share their prefix: each task sums into a buffer of its own, added afterwards in order.
        let shared = Shared::new(&mut out);
        let sums: Vec<ContextGradient> = work
            .par_iter()
            .with_max_len(1)
            .map_init(BackwardScratch::default, |scratch, &(span, head)| {
                self.run_head(&pieces[span], head, scratch, &shared, width)
            })
            .collect();
        for (&(span, head), sum) in work.iter().zip(&sums) {
            let span = &self.spans[span];
            let context = span.prefix.clone().chain(span.start..span.start + span.rows);
            let size = heads.size;
            let key = (heads.queries + head) * size;
            let value = key + heads.keys * size;
            for (index, row) in context.enumerate() {
                let part = index * size..(index + 1) * size;
                add_scaled(
                    &mut out[row * width + key..][..size],
                    1.0,
                    &sum.keys[part.clone()],
                );
                add_scaled(&mut out[row * width + value..][..size], 1.0, &sum.values[part]);
            }
        }
        out
    }

    /// One key head of one span: writes the query gradients, returns those of keys and values.
    fn run_head(
        &self,
        span: &Span<'_>,
        head: usize,
        scratch: &mut BackwardScratch,
        out: &Shared<'_, f32>,
        width: usize,
    ) -> ContextGradient {
        let heads = self.heads;
        let (size, group) = (heads.size, heads.group());
        let mut sum = ContextGradient {
            keys: vec![0.0; span.positions() * size],
            values: vec![0.0; span.positions() * size],
        };
        let step = (TASK_ROWS / group).max(1);
        for first in (0..span.rows).step_by(step) {
            let task = Task {
                span: 0,
                first,
                tokens: step.min(span.rows - first),
                head,
            };
            let rows = task.tokens * group;
            let visible = {
                scratch.forward.load(self.projected, width, span, &task, heads);
                softmax_scores(&mut scratch.forward, span, &task, heads)
            };
            let columns = heads.queries * size;
            gather(&mut scratch.gradient, self.gradient, columns, span, &task, heads);
            gather(&mut scratch.attended, self.attended, columns, span, &task, heads);
            let (probabilities, gradient) = (&mut scratch.forward.scores, &scratch.gradient);
            scratch.scores.resize(rows * visible, 0.0);
            // dP = dO Vᵀ, and dV += Pᵀ dO.
            let mut column = 0;
            for piece in &span.context {
                let piece_rows = piece.rows.min(visible - column);
                if piece_rows == 0 {
                    break;
                }
                product(Product {
                    shape: [rows, size, piece_rows],
                    left: (gradient, size, 1),
                    right: (&piece.values[head * size..], 1, piece.stride),
                    out: (&mut scratch.scores[column..], visible),
                    add: false,
                });
                product(Product {
                    shape: [piece_rows, rows, size],
                    left: (&probabilities[column..], 1, visible),
                    right: (gradient, size, 1),
                    out: (&mut sum.values[column * size..], size),
                    add: true,
                });
                column += piece_rows;
            }
            // dS = P ∘ (dP - Σ dO ∘ O)
            for row in 0..rows {
                let part = row * size..(row + 1) * size;
                let (gradient, attended) = (&gradient[part.clone()], &scratch.attended[part]);
                let part = row * visible..(row + 1) * visible;
                softmax_backward(
                    &mut scratch.scores[part.clone()],
                    &probabilities[part],
                    gradient,
                    attended,
                );
            }
            // dQ = dS K / √D, and dK += dSᵀ Q / √D (the queries in the scratch are already divided).
            scratch.queries.clear();
            scratch.queries.resize(rows * size, 0.0);
            let mut column = 0;
            for piece in &span.context {
                let piece_rows = piece.rows.min(visible - column);
                if piece_rows == 0 {
                    break;
                }
                product(Product {
                    shape: [rows, piece_rows, size],
                    left: (&scratch.scores[column..], visible, 1),
                    right: (&piece.keys[head * size..], piece.stride, 1),
                    out: (&mut scratch.queries, size),
                    add: true,
                });
                product(Product {
                    shape: [piece_rows, rows, size],
                    left: (&scratch.scores[column..], 1, visible),
                    right: (&scratch.forward.queries, size, 1),
                    out: (&mut sum.keys[column * size..], size),
                    add: true,
                });
                column += piece_rows;
            }
            for (token, gradient) in scratch.queries.chunks_exact_mut(group * size).enumerate() {
                gradient.iter_mut().for_each(|value| *value *= heads.scale());
                let start = (span.start + first + token) * width + head * group * size;
                #[expect(unsafe_code, reason = "tasks write disjoint parts of one matrix")]
                // SAFETY: the query columns of this head and span belong to this task alone.
                unsafe { out.part(start, group * size) }.copy_from_slice(gradient);
            }
        }
        sum
    }
}

/// The spans of a packed batch with their contexts, read from the projected rows themselves.
///
/// # Shapes
/// - `projected`: `[N, (Hq + 2 * Hkv) * D]`
pub(crate) fn packed_context<'a>(projected: &'a [f32], heads: Heads, spans: &[PackedSpan]) -> Vec<Span<'a>> {
    let stride = (heads.queries + 2 * heads.keys) * heads.size;
    let key = heads.queries * heads.size;
    let value = key + heads.keys * heads.size;
    let piece = |start: usize, rows: usize| Piece {
        keys: &projected[start * stride + key..],
        values: &projected[start * stride + value..],
        rows,
        stride,
    };
    spans
        .iter()
        .map(|span| {
            let mut context = Vec::with_capacity(2);
            if !span.prefix.is_empty() {
                context.push(piece(span.prefix.start, span.prefix.len()));
            }
            context.push(piece(span.start, span.rows));
            Span {
                start: span.start,
                rows: span.rows,
                context,
            }
        })
        .collect()
}

/// `[S, D]` gradients of one key head.
struct ContextGradient {
    keys: Vec<f32>,
    values: Vec<f32>,
}

#[derive(Default)]
struct Scratch {
    /// `[tokens * group, D]`, divided by √D.
    queries: Vec<f32>,
    /// `[tokens * group, visible]`, probabilities after the softmax.
    scores: Vec<f32>,
    /// `[tokens * group, D]`
    result: Vec<f32>,
}

#[derive(Default)]
struct BackwardScratch {
    forward: Scratch,
    gradient: Vec<f32>,
    attended: Vec<f32>,
    scores: Vec<f32>,
    queries: Vec<f32>,
}

impl Scratch {
    fn load(&mut self, queries: &[f32], stride: usize, span: &Span<'_>, task: &Task, heads: Heads) {
        gather(&mut self.queries, queries, stride, span, task, heads);
        let scale = heads.scale();
        self.queries.iter_mut().for_each(|value| *value *= scale);
    }
}

/// Copies the query heads of a task to `[tokens * group, D]`.
fn gather(out: &mut Vec<f32>, rows: &[f32], stride: usize, span: &Span<'_>, task: &Task, heads: Heads) {
    let group = heads.group() * heads.size;
    out.clear();
    for token in 0..task.tokens {
        let start = (span.start + task.first + token) * stride + task.head * group;
        out.extend_from_slice(&rows[start..start + group]);
    }
}

/// Attention of a single token: one pass over the keys and one over the values.
fn attend_one<'a>(scratch: &'a mut Scratch, span: &Span<'_>, task: &Task, heads: Heads) -> &'a [f32] {
    let (size, group) = (heads.size, heads.group());
    let visible = span.positions() - span.rows + task.first + 1;
    let offset = task.head * size;
    scratch.scores.resize(group * visible, 0.0);
    scratch.result.clear();
    scratch.result.resize(group * size, 0.0);
    let mut position = 0;
    for piece in &span.context {
        let rows = piece.rows.min(visible - position);
        let keys = Keys {
            values: &piece.keys[offset..],
            rows,
            stride: piece.stride,
        };
        score_rows(
            &scratch.queries,
            keys,
            size,
            &mut scratch.scores[position..],
            visible,
        );
        position += rows;
    }
    for (scores, result) in scratch
        .scores
        .chunks_exact_mut(visible)
        .zip(scratch.result.chunks_exact_mut(size))
    {
        let sum = exp_shifted_sum(scores, maximum(scores));
        let mut position = 0;
        for piece in &span.context {
            let rows = piece.rows.min(visible - position);
            add_weighted_rows(
                result,
                &scores[position..position + rows],
                &piece.values[offset..],
                piece.stride,
            );
            position += rows;
        }
        result.iter_mut().for_each(|value| *value /= sum);
    }
    &scratch.result
}

/// Keys of one head: rows `stride` apart.
#[derive(Clone, Copy)]
struct Keys<'a> {
    values: &'a [f32],
    rows: usize,
    stride: usize,
}

super::vectorized! {
    /// `scores[h * scores_stride + i] = queries[h] · keys[i]`
    fn score_rows(queries: &[f32], keys: Keys<'_>, size: usize, scores: &mut [f32], scores_stride: usize) {
        for row in 0..keys.rows {
            let key = &keys.values[row * keys.stride..][..size];
            for (head, query) in queries.chunks_exact(size).enumerate() {
                scores[head * scores_stride + row] = dot(query, key);
            }
        }
    }
}

super::vectorized! {
    /// `out += Σ_i weights[i] * rows[i]`, 32 columns at a time in registers.
    fn add_weighted_rows(out: &mut [f32], weights: &[f32], rows: &[f32], stride: usize) {
        let width = out.len();
        let mut chunks = out.chunks_exact_mut(32);
        for (chunk, out) in chunks.by_ref().enumerate() {
            let mut sums = [0.0_f32; 32];
            for (index, weight) in weights.iter().enumerate() {
                let row = &rows[index * stride + chunk * 32..][..32];
                for lane in 0..32 {
                    sums[lane] += weight * row[lane];
                }
            }
            for lane in 0..32 {
                out[lane] += sums[lane];
            }
        }
        let rest = chunks.into_remainder();
        let first = width - rest.len();
        for (index, weight) in weights.iter().enumerate() {
            let row = &rows[index * stride + first..][..rest.len()];
            for (out, value) in rest.iter_mut().zip(row) {
                *out += weight * value;
            }
        }
    }
}

super::vectorized! {
    /// `dS = P ∘ (dP - Σ dO ∘ O)` in the place of dP.
    fn softmax_backward(gradient: &mut [f32], probabilities: &[f32], out_gradient: &[f32], out: &[f32]) {
        let delta = dot(out_gradient, out);
        for (gradient, probability) in gradient.iter_mut().zip(probabilities) {
            *gradient = probability * (*gradient - delta);
        }
    }
}

/// Fills `scores` with softmax probabilities, 0 for positions after a token's own; returns the row length.
fn softmax_scores(scratch: &mut Scratch, span: &Span<'_>, task: &Task, heads: Heads) -> usize {
    let before = span.positions() - span.rows + task.first;
    let visible = before + task.tokens;
    let (size, group) = (heads.size, heads.group());
    let rows = task.tokens * group;
    scratch.scores.resize(rows * visible, 0.0);
    let mut column = 0;
    for piece in &span.context {
        let piece_rows = piece.rows.min(visible - column);
        if piece_rows == 0 {
            break;
        }
        product(Product {
            shape: [rows, size, piece_rows],
            left: (&scratch.queries, size, 1),
            right: (&piece.keys[task.head * size..], 1, piece.stride),
            out: (&mut scratch.scores[column..], visible),
            add: false,
        });
        column += piece_rows;
    }
    for (row, scores) in scratch.scores[..rows * visible]
        .chunks_exact_mut(visible)
        .enumerate()
    {
        let (seen, hidden) = scores.split_at_mut(before + row / group + 1);
        let sum = exp_shifted_sum(seen, maximum(seen));
        seen.iter_mut().for_each(|value| *value /= sum);
        hidden.fill(0.0);
    }
    visible
}

/// `result = probabilities · values`
fn weighted_values(scratch: &mut Scratch, span: &Span<'_>, task: &Task, heads: Heads, visible: usize) {
    let rows = task.tokens * heads.group();
    scratch.result.clear();
    scratch.result.resize(rows * heads.size, 0.0);
    let mut column = 0;
    for piece in &span.context {
        let piece_rows = piece.rows.min(visible - column);
        if piece_rows == 0 {
            break;
        }
        product(Product {
            shape: [rows, piece_rows, heads.size],
            left: (&scratch.scores[column..], visible, 1),
            right: (&piece.values[task.head * heads.size..], piece.stride, 1),
            out: (&mut scratch.result, heads.size),
            add: true,
        });
        column += piece_rows;
    }
}

/// `out (+)= left · right`; matrices are slices with a row and a column stride.
pub(crate) struct Product<'a> {
    /// Rows, inner size, columns.
    pub(crate) shape: [usize; 3],
    pub(crate) left: (&'a [f32], usize, usize),
    pub(crate) right: (&'a [f32], usize, usize),
    /// Row stride; columns are contiguous.
    pub(crate) out: (&'a mut [f32], usize),
    pub(crate) add: bool,
}

/// Computes a [`Product`] on the calling thread.
pub(crate) fn product(product: Product<'_>) {
    let [rows, inner, columns] = product.shape;
    if rows == 0 || inner == 0 || columns == 0 {
        return;
    }
    let (left, left_row, left_column) = product.left;
    let (right, right_row, right_column) = product.right;
    let (out, out_row) = product.out;
    assert!(
        (rows - 1) * left_row + (inner - 1) * left_column < left.len()
            && (inner - 1) * right_row + (columns - 1) * right_column < right.len()
            && (rows - 1) * out_row + columns <= out.len(),
        "matrix product out of bounds"
    );
    #[expect(unsafe_code, reason = "gemm takes pointers")]
    // SAFETY: the last element of each matrix lies in its slice (checked above), and `out` is
    // borrowed mutably, so it overlaps neither input.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            inner,
            out.as_mut_ptr(),
            1,
            out_row as isize,
            product.add,
            left.as_ptr(),
            left_column as isize,
            left_row as isize,
            right.as_ptr(),
            right_column as isize,
            right_row as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}
