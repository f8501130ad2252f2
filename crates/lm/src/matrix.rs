//! Matrices on the device of a model, and the operations of a decoder on them.
//!
//! On the CPU a matrix is host memory and an operation is a fused kernel of [`crate::host`]; on any
//! other device it is a burn tensor and an operation is a few burn operations in [`crate::tensors`].
//! This module is the only place that tells the two apart. `N` rows, `C` columns.

use std::ops::Range;

use crate::device::{Device, Tensor};
use crate::host::attention::{self, Heads, PackedSpan, Piece, Span};
use crate::host::buffers;
use crate::host::math::{self, RotaryTable};
use crate::host::panels::{Panels, Target, View};
use crate::tensors;

/// A `[N, C]` f32 matrix.
#[derive(Clone)]
pub(crate) enum Matrix {
    Host { values: Vec<f32>, columns: usize },
    Device(Tensor<2>),
}

/// A frozen `[K, C]` weight.
pub(crate) enum Weight {
    Host(Panels),
    Device(Tensor<2>),
}

/// A frozen `[C]` vector.
pub(crate) enum Vector {
    Host(Vec<f32>),
    Device(Tensor<1>),
}

/// A linear map `x · weight + bias`; several maps of one input may lie side by side.
pub(crate) struct Linear {
    pub(crate) weight: Weight,
    pub(crate) bias: Option<Vector>,
}

/// Low-rank additions to the maps that lie side by side in one [`Linear`].
pub(crate) struct LowRank {
    /// `[K, parts * rank]`: `x ·` this are the inputs of the parts, side by side.
    pub(crate) down: Weight,
    pub(crate) parts: Vec<LowRankPart>,
    pub(crate) rank: usize,
}

/// The second factor of one map, times the scale.
pub(crate) struct LowRankPart {
    /// `[rank, columns]`
    pub(crate) up: Weight,
    pub(crate) columns: usize,
    /// The first column of the map in the [`Linear`].
    pub(crate) offset: usize,
}

/// Keys and values of some positions in order, `[S, Hkv * D]`.
#[derive(Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "lives for one call; a box would cost more than the room"
)]
pub(crate) enum CachePiece<'a> {
    Host(Piece<'a>),
    Device { keys: Tensor<2>, values: Tensor<2> },
}

impl Matrix {
    /// A matrix on `device` with the given rows.
    pub(crate) fn new(values: Vec<f32>, columns: usize, device: &Device) -> Self {
        if device.is_host() {
            Self::Host { values, columns }
        } else {
            Self::Device(tensors::matrix(values, columns, &device.burn()))
        }
    }

    /// Ends the use of a matrix, whose memory the next one of its size takes over.
    pub(crate) fn recycle(self) {
        if let Self::Host { values, .. } = self {
            buffers::give(values);
        }
    }

    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Host { values, columns } => values.len() / columns,
            Self::Device(tensor) => tensor.dims()[0],
        }
    }

    pub(crate) fn columns(&self) -> usize {
        match self {
            Self::Host { columns, .. } => *columns,
            Self::Device(tensor) => tensor.dims()[1],
        }
    }

    /// The values in host memory, row after row.
    pub(crate) fn into_host(self) -> Vec<f32> {
        match self {
            Self::Host { values, .. } => values,
            Self::Device(tensor) => tensors::host(tensor),
        }
    }

    /// The rows with the given indices, in that order.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Host { values, columns } => Self::Host {
                values: rows
                    .iter()
                    .flat_map(|row| &values[row * columns..(row + 1) * columns])
                    .copied()
                    .collect(),
                columns: *columns,
            },
            Self::Device(tensor) => Self::Device(tensors::select(tensor.clone(), rows)),
        }
    }

    /// `x / √(mean(x²) + eps) * weight`, row by row.
    pub(crate) fn rms_norm(&self, weight: &Vector, eps: f32) -> Self {
        match (self, weight) {
            (Self::Host { values, columns }, Vector::Host(weight)) => Self::Host {
                values: math::rms_norm(values, weight, eps),
                columns: *columns,
            },
            (Self::Device(x), Vector::Device(weight)) => {
                Self::Device(tensors::rms_norm(x.clone(), weight.clone(), eps))
            }
            _ => mixed(),
        }
    }

    /// `self · weight + bias` with the low-rank additions of each range of rows, added to `residual` if given.
    ///
    /// # Shapes
    /// - `self`: `[N, K]`, `residual`: `[N, C]`, returns `[N, C]`
    pub(crate) fn linear(
        &self,
        linear: &Linear,
        additions: &[(Range<usize>, &LowRank)],
        residual: Option<Self>,
    ) -> Self {
        match (self, &linear.weight) {
            (
                Self::Host {
                    values,
                    columns: inner,
                },
                Weight::Host(weight),
            ) => {
                let columns = weight.columns();
                let rows = values.len() / inner;
                let (mut out, mut add) = match residual {
                    Some(Self::Host { values, .. }) => (values, true),
                    Some(Self::Device(_)) => mixed(),
                    None => (buffers::take(rows * columns), false),
                };
                match &linear.bias {
                    Some(Vector::Host(bias)) => {
                        for row in out.chunks_exact_mut(columns) {
                            if add {
                                math::add_scaled(row, 1.0, bias);
                            } else {
                                row.copy_from_slice(bias);
                            }
                        }
                        add = true;
                    }
                    Some(Vector::Device(_)) => mixed(),
                    None => {}
                }
                let rows = View {
                    values,
                    rows,
                    stride: *inner,
                };
                weight.multiply(
                    rows,
                    Target {
                        values: &mut out,
                        stride: columns,
                        offset: 0,
                        add,
                    },
                );
                for (range, addition) in additions {
                    addition.add_host(
                        &values[range.start * inner..range.end * inner],
                        *inner,
                        &mut out[range.start * columns..range.end * columns],
                        columns,
                    );
                }
                Self::Host { values: out, columns }
            }
            (Self::Device(x), Weight::Device(weight)) => {
                let mut out = x.clone().matmul(weight.clone());
                if let Some(Vector::Device(bias)) = &linear.bias {
                    out = out + bias.clone().unsqueeze();
                }
                for (range, addition) in additions {
                    out = addition.add_device(x.clone(), range.clone(), out);
                }
                match residual {
                    Some(Self::Device(residual)) => Self::Device(residual + out),
                    Some(Self::Host { .. }) => mixed(),
                    None => Self::Device(out),
                }
            }
            _ => mixed(),
        }
    }

    /// `silu(gate) * up` of `[N, 2 * C]` rows that hold gate and up side by side; returns `[N, C]`.
    pub(crate) fn swiglu(&self) -> Self {
        match self {
            Self::Host { values, columns } => Self::Host {
                values: math::swiglu(values, columns / 2),
                columns: columns / 2,
            },
            Self::Device(tensor) => Self::Device(tensors::swiglu(tensor.clone())),
        }
    }

    /// Rotates the first `heads` heads of each row by its position, backwards for `direction` -1.
    pub(crate) fn rotate(self, table: &RotaryTable, heads: usize, positions: &[u32], direction: f32) -> Self {
        match self {
            Self::Host { mut values, columns } => {
                table.rotate(&mut values, columns, heads, positions, direction);
                Self::Host { values, columns }
            }
            Self::Device(tensor) => Self::Device(tensors::rotate(tensor, table, heads, positions, direction)),
        }
    }

    /// Causal attention of spans of rows over the pieces of their contexts.
    ///
    /// # Shapes
    /// - `self`: `[N, (Hq + 2 * Hkv) * D]`, queries first; returns `[N, Hq * D]`
    pub(crate) fn attend(&self, spans: Vec<(Range<usize>, Vec<CachePiece<'_>>)>, heads: Heads) -> Self {
        match self {
            Self::Host { values, columns } => {
                let spans: Vec<Span<'_>> = spans
                    .into_iter()
                    .map(|(range, context)| Span {
                        start: range.start,
                        rows: range.len(),
                        context: context
                            .into_iter()
                            .map(|piece| match piece {
                                CachePiece::Host(piece) => piece,
                                CachePiece::Device { .. } => mixed(),
                            })
                            .collect(),
                    })
                    .collect();
                let values = attention::attend(values, *columns, &spans, heads);
                Self::Host {
                    values,
                    columns: heads.queries * heads.size,
                }
            }
            Self::Device(projected) => Self::Device(tensors::attend(projected.clone(), spans, heads)),
        }
    }

    /// The keys and values of some rows of `[N, (Hq + 2 * Hkv) * D]`.
    pub(crate) fn cache_piece(&self, rows: Range<usize>, heads: Heads) -> CachePiece<'_> {
        match self {
            Self::Host { values, columns } => {
                let key = heads.queries * heads.size;
                let start = rows.start * columns;
                CachePiece::Host(Piece {
                    keys: &values[start + key..],
                    values: &values[start + key + heads.keys * heads.size..],
                    rows: rows.len(),
                    stride: *columns,
                })
            }
            Self::Device(tensor) => tensors::cache_piece(tensor.clone(), rows, heads),
        }
    }

    /// Attention of a packed batch over itself; see [`PackedSpan`].
    pub(crate) fn attend_packed(&self, spans: &[PackedSpan], heads: Heads) -> Self {
        let spans = spans
            .iter()
            .map(|span| {
                let mut context = Vec::with_capacity(2);
                if !span.prefix.is_empty() {
                    context.push(self.cache_piece(span.prefix.clone(), heads));
                }
                let rows = span.start..span.start + span.rows;
                context.push(self.cache_piece(rows.clone(), heads));
                (rows, context)
            })
            .collect();
        self.attend(spans, heads)
    }
}

impl Weight {
    /// A weight on `device` whose column `c`, of length `inner`, is written by `fill(c, out)`.
    pub(crate) fn new(
        inner: usize,
        columns: usize,
        device: &Device,
        fill: impl Fn(usize, &mut [f32]) + Sync,
    ) -> Self {
        if device.is_host() {
            Self::Host(Panels::float(inner, columns, fill))
        } else {
            Self::Device(tensors::weight(inner, columns, &device.burn(), fill))
        }
    }
}

impl Vector {
    /// A vector on `device`.
    pub(crate) fn new(values: Vec<f32>, device: &Device) -> Self {
        if device.is_host() {
            Self::Host(values)
        } else {
            Self::Device(tensors::vector(values, &device.burn()))
        }
    }
}

impl LowRank {
    /// `out += Σ (x · down) · up`, each part at its columns.
    fn add_host(&self, x: &[f32], inner: usize, out: &mut [f32], columns: usize) {
        let rows = x.len() / inner;
        let Weight::Host(down) = &self.down else { mixed() };
        let width = down.columns();
        let mut middle = vec![0.0; rows * width];
        down.multiply(
            View {
                values: x,
                rows,
                stride: inner,
            },
            Target {
                values: &mut middle,
                stride: width,
                offset: 0,
                add: false,
            },
        );
        for (index, part) in self.parts.iter().enumerate() {
            let Weight::Host(up) = &part.up else { mixed() };
            up.multiply(
                View {
                    values: &middle[index * self.rank..],
                    rows,
                    stride: width,
                },
                Target {
                    values: out,
                    stride: columns,
                    offset: part.offset,
                    add: true,
                },
            );
        }
    }

    fn add_device(&self, x: Tensor<2>, rows: Range<usize>, out: Tensor<2>) -> Tensor<2> {
        let Weight::Device(down) = &self.down else { mixed() };
        let ups = self.parts.iter().map(|part| match &part.up {
            Weight::Device(up) => up.clone(),
            Weight::Host(_) => mixed(),
        });
        tensors::add_low_rank(x, rows, out, down.clone(), ups.collect(), self.rank)
    }
}

/// All matrices and weights of a model are made for its one device.
pub(crate) fn mixed() -> ! {
    unreachable!("a matrix in host memory meets one on another device")
}
