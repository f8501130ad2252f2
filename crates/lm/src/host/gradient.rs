//! Products that sum over the rows of a batch, for the gradients of low-rank factors.

use rayon::prelude::*;

use super::attention::{Product, product};

/// Columns or rows that a task takes at a time.
const TASK_COLUMNS: usize = 128;

/// A `[N, C]` part of a matrix whose rows are `stride` apart, starting at column `offset`.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) offset: usize,
    pub(crate) count: usize,
}

/// `out += scale * leftᵀ · right`, summed over the rows.
///
/// # Shapes
/// - `left`: `[N, A]`, `right`: `[N, B]`, `out`: `[A, B]`
pub(crate) fn add_outer(left: Columns<'_>, right: Columns<'_>, scale: f32, out: &mut [f32]) {
    if left.count >= right.count {
        // Many rows of the result: each task takes some of them.
        out.par_chunks_mut(TASK_COLUMNS * right.count)
            .enumerate()
            .for_each(|(task, out)| {
                let first = task * TASK_COLUMNS;
                let part = Columns {
                    offset: left.offset + first,
                    count: out.len() / right.count,
                    ..left
                };
                let sum = outer(part, right);
                add(out, scale, &sum);
            });
    } else {
        // Many columns: each task computes some, which are then spread over the rows.
        let firsts: Vec<usize> = (0..right.count).step_by(TASK_COLUMNS).collect();
        let sums: Vec<Vec<f32>> = firsts
            .par_iter()
            .map(|&first| {
                let count = TASK_COLUMNS.min(right.count - first);
                outer(
                    left,
                    Columns {
                        offset: right.offset + first,
                        count,
                        ..right
                    },
                )
            })
            .collect();
        for (&first, sum) in firsts.iter().zip(&sums) {
            let width = sum.len() / left.count;
            for (out, sum) in out.chunks_exact_mut(right.count).zip(sum.chunks_exact(width)) {
                add(&mut out[first..first + width], scale, sum);
            }
        }
    }
}

fn add(out: &mut [f32], scale: f32, sum: &[f32]) {
    for (out, sum) in out.iter_mut().zip(sum) {
        *out += scale * sum;
    }
}

/// `leftᵀ · right` on the calling thread.
fn outer(left: Columns<'_>, right: Columns<'_>) -> Vec<f32> {
    let mut out = vec![0.0; left.count * right.count];
    let rows = left.values.len() / left.stride;
    product(Product {
        shape: [left.count, rows, right.count],
        left: (&left.values[left.offset..], 1, left.stride),
        right: (&right.values[right.offset..], right.stride, 1),
        out: (&mut out, right.count),
        add: false,
    });
    out
}
