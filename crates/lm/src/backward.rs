//! Derivatives of the operations in [`crate::matrix`], on the CPU and on other devices.

use crate::host::attention::{Backward, Heads, PackedSpan};
use crate::host::buffers;
use crate::host::gradient::{Columns, add_outer};
use crate::host::math;
use crate::host::panels::{Panels, Target, View};
use crate::matrix::{Linear, LowRank, Matrix, Vector, Weight, mixed};
use crate::tensors;

/// Where the gradients of one map's factors go.
pub(crate) struct FactorGradients<'a> {
    /// `[rank, in]`
    pub(crate) down: &'a mut [f32],
    /// `[out, rank]`
    pub(crate) up: &'a mut [f32],
}

impl Matrix {
    /// The derivative of [`Matrix::linear`] without residual: adds to the factors' gradients, and
    /// returns the gradient of `self`, the input.
    ///
    /// `scale` is the adapter's, which `low_rank` holds in its second factors.
    ///
    /// # Shapes
    /// - `self`: `[N, K]`, `gradient`: `[N, C]`, returns `[N, K]`
    pub(crate) fn linear_backward(
        &self,
        linear: &Linear,
        low_rank: &LowRank,
        scale: f32,
        gradient: &Self,
        factors: &mut [FactorGradients<'_>],
    ) -> Self {
        match (self, gradient, &linear.weight) {
            (
                Self::Host {
                    values: x,
                    columns: inner,
                },
                Self::Host {
                    values: gradient,
                    columns,
                },
                Weight::Host(weight),
            ) => {
                let rows = x.len() / inner;
                let mut out = buffers::take(x.len());
                let transposed = weight.transposed();
                transposed.multiply(
                    View {
                        values: gradient,
                        rows,
                        stride: *columns,
                    },
                    Target {
                        values: &mut out,
                        stride: *inner,
                        offset: 0,
                        add: false,
                    },
                );
                transposed.recycle();
                low_rank_backward(
                    low_rank,
                    scale,
                    (x, *inner),
                    (gradient, *columns),
                    factors,
                    &mut out,
                );
                Self::Host {
                    values: out,
                    columns: *inner,
                }
            }
            (Self::Device(x), Self::Device(gradient), Weight::Device(weight)) => {
                let base = gradient.clone().matmul(weight.clone().transpose());
                Self::Device(tensors::low_rank_backward(
                    low_rank,
                    scale,
                    x.clone(),
                    gradient.clone(),
                    factors,
                    base,
                ))
            }
            _ => mixed(),
        }
    }

    /// Adds the derivative of [`Matrix::rms_norm`] at `x` for the output's `gradient` to `self`.
    pub(crate) fn add_rms_norm_backward(self, gradient: &Self, x: &Self, weight: &Vector, eps: f32) -> Self {
        match (self, gradient, x, weight) {
            (
                Self::Host {
                    values: mut sum,
                    columns,
                },
                Self::Host { values: gradient, .. },
                Self::Host { values: x, .. },
                Vector::Host(weight),
            ) => {
                math::add_rms_norm_backward(gradient, x, weight, eps, &mut sum);
                Self::Host { values: sum, columns }
            }
            (Self::Device(sum), Self::Device(gradient), Self::Device(x), Vector::Device(weight)) => {
                Self::Device(
                    sum + tensors::rms_norm_backward(gradient.clone(), x.clone(), weight.clone(), eps),
                )
            }
            _ => mixed(),
        }
    }

    /// The derivative of [`Matrix::swiglu`] at `self`, in its place.
    pub(crate) fn swiglu_backward(self, gradient: &Self) -> Self {
        match (self, gradient) {
            (Self::Host { mut values, columns }, Self::Host { values: gradient, .. }) => {
                math::swiglu_backward(&mut values, gradient, columns / 2);
                Self::Host { values, columns }
            }
            (Self::Device(gate_up), Self::Device(gradient)) => {
                Self::Device(tensors::swiglu_backward(gate_up, gradient.clone()))
            }
            _ => mixed(),
        }
    }

    /// The derivative of [`Matrix::attend_packed`] at `self`, which gave `attended`.
    ///
    /// # Shapes
    /// - `self`: `[N, (Hq + 2 * Hkv) * D]`, as is the result; `attended`, `gradient`: `[N, Hq * D]`
    pub(crate) fn attend_backward(
        &self,
        attended: &Self,
        gradient: &Self,
        spans: &[PackedSpan],
        heads: Heads,
    ) -> Self {
        match (self, attended, gradient) {
            (
                Self::Host {
                    values: projected,
                    columns,
                },
                Self::Host { values: attended, .. },
                Self::Host { values: gradient, .. },
            ) => Self::Host {
                values: Backward {
                    projected,
                    attended,
                    gradient,
                    heads,
                    spans,
                }
                .run(),
                columns: *columns,
            },
            (Self::Device(projected), Self::Device(_), Self::Device(gradient)) => Self::Device(
                tensors::attend_packed_backward(projected.clone(), gradient.clone(), spans, heads),
            ),
            _ => mixed(),
        }
    }
}

/// Adds the low-rank path's input gradient to `out`, and the factors' gradients to `factors`.
fn low_rank_backward(
    low_rank: &LowRank,
    scale: f32,
    (x, inner): (&[f32], usize),
    (gradient, columns): (&[f32], usize),
    factors: &mut [FactorGradients<'_>],
    out: &mut [f32],
) {
    let rows = x.len() / inner;
    let rank = low_rank.rank;
    let down = host(&low_rank.down);
    let width = down.columns();
    let view = View {
        values: x,
        rows,
        stride: inner,
    };
    let mut middle = vec![0.0; rows * width];
    down.multiply(
        view,
        Target {
            values: &mut middle,
            stride: width,
            offset: 0,
            add: false,
        },
    );
    let mut middle_gradient = vec![0.0; rows * width];
    for (index, (part, factors)) in low_rank.parts.iter().zip(factors.iter_mut()).enumerate() {
        let part_gradient = &gradient[part.offset..];
        host(&part.up).transposed().multiply(
            View {
                values: part_gradient,
                rows,
                stride: columns,
            },
            Target {
                values: &mut middle_gradient,
                stride: width,
                offset: index * rank,
                add: false,
            },
        );
        let middle = Columns {
            values: &middle,
            stride: width,
            offset: index * rank,
            count: rank,
        };
        let part = Columns {
            values: gradient,
            stride: columns,
            offset: part.offset,
            count: part.columns,
        };
        add_outer(part, middle, scale, factors.up);
        let middle_gradient = Columns {
            values: &middle_gradient,
            ..middle
        };
        add_outer(
            middle_gradient,
            Columns {
                values: x,
                stride: inner,
                offset: 0,
                count: inner,
            },
            1.0,
            factors.down,
        );
    }
    down.transposed().multiply(
        View {
            values: &middle_gradient,
            rows,
            stride: width,
        },
        Target {
            values: out,
            stride: inner,
            offset: 0,
            add: true,
        },
    );
}

fn host(weight: &Weight) -> &Panels {
    match weight {
        Weight::Host(panels) => panels,
        Weight::Device(_) => mixed(),
    }
}
