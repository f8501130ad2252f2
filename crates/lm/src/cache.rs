//! Keys and values of one row of a batch; forks share the prefix.

use std::ops::Range;
use std::sync::Arc;

use burn::tensor::s;

use crate::device::Tensor;
use crate::host::attention::{Heads, Piece};
use crate::matrix::{CachePiece, Matrix};

/// The cached keys and values of one sequence.
///
/// A list of segments. Appending goes to the last one if nobody shares it, else to a new one, so a
/// fork costs one reference per segment and copies nothing.
pub struct Sequence {
    layers: usize,
    heads: Heads,
    segments: Vec<Segment>,
    len: usize,
}

struct Segment {
    /// Positions of the segment that this sequence sees; a fork's owner may have written more.
    rows: usize,
    layers: Arc<Vec<LayerCache>>,
}

/// Keys and values of one layer, `[rows, Hkv * D]` each, after the rotary embedding.
#[derive(Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "one per layer and row; a box would cost more than the room"
)]
enum LayerCache {
    Empty,
    Host { keys: Vec<f32>, values: Vec<f32> },
    Device { keys: Tensor<2>, values: Tensor<2> },
}

impl Sequence {
    pub(crate) fn new(layers: usize, heads: Heads) -> Self {
        Self {
            layers,
            heads,
            segments: Vec::new(),
            len: 0,
        }
    }

    /// Number of cached positions.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True before the first forward pass.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A sequence with the same past, which goes on apart. Copies nothing.
    pub fn fork(&self) -> Self {
        let segments = self
            .segments
            .iter()
            .map(|segment| Segment {
                rows: segment.rows,
                layers: Arc::clone(&segment.layers),
            })
            .collect();
        Self {
            layers: self.layers,
            heads: self.heads,
            segments,
            len: self.len,
        }
    }

    /// Forgets all positions from `len` on; does nothing if there are no more than that.
    pub fn truncate(&mut self, len: usize) {
        let mut start = 0;
        self.segments.retain_mut(|segment| {
            let keep = segment.rows.min(len.saturating_sub(start));
            start += segment.rows;
            segment.rows = keep;
            keep > 0
        });
        self.len = self.len.min(len);
    }

    /// Makes the last segment one that can be appended to: unshared, and without rows after `rows`.
    pub(crate) fn begin_append(&mut self) {
        if let Some(segment) = self.segments.last_mut()
            && let Some(layers) = Arc::get_mut(&mut segment.layers)
        {
            let width = self.heads.keys * self.heads.size;
            layers
                .iter_mut()
                .for_each(|layer| layer.truncate(segment.rows, width));
            return;
        }
        self.segments.push(Segment {
            rows: 0,
            layers: Arc::new(vec![LayerCache::Empty; self.layers]),
        });
    }

    /// Appends the keys and values in `rows` of `[N, (Hq + 2 * Hkv) * D]` to one layer.
    ///
    /// Called once for each layer between [`begin_append`](Self::begin_append) and [`end_append`](Self::end_append).
    pub(crate) fn append(&mut self, layer: usize, projected: &Matrix, rows: Range<usize>) {
        let layers = self
            .segments
            .last_mut()
            .and_then(|segment| Arc::get_mut(&mut segment.layers));
        // `begin_append` made the last segment and its layers unshared; forks need `&self`, so none came between.
        let layers = layers.expect("append without begin_append");
        layers[layer].append(projected.cache_piece(rows, self.heads), self.heads);
    }

    /// Counts the appended positions.
    pub(crate) fn end_append(&mut self, rows: usize) {
        if let Some(segment) = self.segments.last_mut() {
            segment.rows += rows;
        }
        self.len += rows;
    }

    /// The pieces of one layer, with `appended` positions that [`end_append`](Self::end_append) has not counted yet.
    pub(crate) fn context(&self, layer: usize, appended: usize) -> Vec<CachePiece<'_>> {
        let last = self.segments.len().saturating_sub(1);
        self.segments
            .iter()
            .enumerate()
            .map(|(index, segment)| {
                let rows = segment.rows + if index == last { appended } else { 0 };
                segment.layers[layer].piece(rows, self.heads)
            })
            .collect()
    }
}

impl LayerCache {
    fn truncate(&mut self, rows: usize, width: usize) {
        match self {
            Self::Empty => {}
            Self::Host { keys, values } => {
                keys.truncate(rows * width);
                values.truncate(rows * width);
            }
            Self::Device { keys, .. } if keys.dims()[0] == rows => {}
            Self::Device { .. } if rows == 0 => *self = Self::Empty,
            Self::Device { keys, values } => {
                *keys = keys.clone().slice(s![0..rows, ..]);
                *values = values.clone().slice(s![0..rows, ..]);
            }
        }
    }

    fn append(&mut self, piece: CachePiece<'_>, heads: Heads) {
        let width = heads.keys * heads.size;
        match piece {
            CachePiece::Host(piece) => {
                if matches!(self, Self::Empty) {
                    *self = Self::Host {
                        keys: Vec::new(),
                        values: Vec::new(),
                    };
                }
                let Self::Host { keys, values } = self else {
                    crate::matrix::mixed()
                };
                for row in 0..piece.rows {
                    let start = row * piece.stride;
                    keys.extend_from_slice(&piece.keys[start..start + width]);
                    values.extend_from_slice(&piece.values[start..start + width]);
                }
            }
            CachePiece::Device {
                keys: new_keys,
                values: new_values,
            } => match self {
                Self::Empty => {
                    *self = Self::Device {
                        keys: new_keys,
                        values: new_values,
                    }
                }
                Self::Device { keys, values } => {
                    *keys = Tensor::cat(vec![keys.clone(), new_keys], 0);
                    *values = Tensor::cat(vec![values.clone(), new_values], 0);
                }
                Self::Host { .. } => crate::matrix::mixed(),
            },
        }
    }

    fn piece(&self, rows: usize, heads: Heads) -> CachePiece<'_> {
        match self {
            Self::Empty => CachePiece::Host(Piece {
                keys: &[],
                values: &[],
                rows: 0,
                stride: heads.keys * heads.size,
            }),
            Self::Host { keys, values } => CachePiece::Host(Piece {
                keys,
                values,
                rows,
                stride: heads.keys * heads.size,
            }),
            Self::Device { keys, values } => CachePiece::Device {
                keys: keys.clone().slice(s![0..rows, ..]),
                values: values.clone().slice(s![0..rows, ..]),
            },
        }
    }
}
