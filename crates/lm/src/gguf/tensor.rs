//! Reads one tensor's values as f32.

use rayon::prelude::*;

use super::TensorType;
use super::header::TensorInfo;

/// Weights that one thread takes at a time.
const WEIGHTS_PER_TASK: usize = 1 << 16;
/// Rows of a tile that is transposed within the first-level cache.
const TILE_ROWS: usize = 64;
/// Columns of such a tile, for block types of up to 64 weights; larger blocks are one tile wide.
const TILE_COLUMNS: usize = 64;

/// A tensor of an open file: its shape, and its bytes in place.
#[derive(Clone, Copy)]
pub struct TensorView<'a> {
    info: &'a TensorInfo,
    bytes: &'a [u8],
}

impl<'a> TensorView<'a> {
    pub(super) fn new(info: &'a TensorInfo, bytes: &'a [u8]) -> Self {
        Self { info, bytes }
    }

    /// The tensor's name.
    pub fn name(&self) -> &'a str {
        &self.info.name
    }

    /// How values are stored.
    pub fn dtype(&self) -> TensorType {
        self.info.dtype
    }

    /// Dimensions, fastest first as in the file: a linear weight is `[in, out]` here and lies in
    /// memory as `out` rows of `in` values.
    pub fn dims(&self) -> &'a [usize] {
        &self.info.dims
    }

    /// Values in a row: `in` of a linear weight.
    pub fn row_len(&self) -> usize {
        self.info.dims[0]
    }

    /// Number of rows: `out` of a linear weight, 1 for a vector.
    pub fn rows(&self) -> usize {
        self.info.dims[1..].iter().product()
    }

    /// The stored bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// All values, on all threads.
    ///
    /// # Shapes
    /// - returns `[out, in]`, row-major
    pub fn dequantize(&self) -> Vec<f32> {
        let mut out = vec![0.0; self.rows() * self.row_len()];
        let block_len = self.info.dtype.block_len();
        let block_bytes = self.info.dtype.block_bytes();
        // Rows are whole blocks and follow each other, so the tensor is one run of blocks.
        let blocks = (WEIGHTS_PER_TASK / block_len).max(1);
        out.par_chunks_mut(blocks * block_len)
            .zip(self.bytes.par_chunks(blocks * block_bytes))
            .for_each(|(out, bytes)| self.info.dtype.dequantize(bytes, out));
        out
    }

    /// All values, transposed, on all threads.
    ///
    /// # Shapes
    /// - returns `[in, out]`, row-major
    pub fn dequantize_transposed(&self) -> Vec<f32> {
        let (rows, columns) = (self.rows(), self.row_len());
        let block_len = self.info.dtype.block_len();
        let tile_columns = TILE_COLUMNS.next_multiple_of(block_len);
        let mut out = vec![0.0; rows * columns];
        // Each task owns `tile_columns` rows of the result and walks down all rows of the source.
        out.par_chunks_mut(tile_columns * rows)
            .enumerate()
            .for_each(|(task, out)| {
                let first_column = task * tile_columns;
                let width = tile_columns.min(columns - first_column);
                let mut tile = vec![0.0; TILE_ROWS * width];
                for first_row in (0..rows).step_by(TILE_ROWS) {
                    let height = TILE_ROWS.min(rows - first_row);
                    for (i, values) in tile.chunks_exact_mut(width).take(height).enumerate() {
                        self.dequantize_part(first_row + i, first_column, values);
                    }
                    for (column, out) in out.chunks_exact_mut(rows).enumerate() {
                        for (i, value) in out[first_row..first_row + height].iter_mut().enumerate() {
                            *value = tile[i * width + column];
                        }
                    }
                }
            });
        out
    }

    /// One row, e.g. the embedding of one token.
    ///
    /// # Shapes
    /// - `out`: `[in]`
    ///
    /// # Panics
    /// If `row` is not below [`rows`](Self::rows) or `out` is not [`row_len`](Self::row_len) long.
    pub fn dequantize_row(&self, row: usize, out: &mut [f32]) {
        assert!(
            row < self.rows(),
            "row {row} of a tensor with {} rows",
            self.rows()
        );
        assert_eq!(out.len(), self.row_len(), "length of the output row");
        self.dequantize_part(row, 0, out);
    }

    /// Part of a row, from a column at the start of a block, a whole number of blocks long.
    fn dequantize_part(&self, row: usize, column: usize, out: &mut [f32]) {
        let dtype = self.info.dtype;
        let start = (row * self.row_len() + column) / dtype.block_len() * dtype.block_bytes();
        let len = out.len() / dtype.block_len() * dtype.block_bytes();
        dtype.dequantize(&self.bytes[start..start + len], out);
    }
}
