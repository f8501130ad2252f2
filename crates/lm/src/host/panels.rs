//! Matrix products with a weight that is stored once in the order in which the product reads it.
//!
//! `N` rows, `K` inner size (the weight's input), `M` columns (its output). A weight is cut into
//! panels of 16 columns and blocks of 256 inner positions; a block of a panel lies in one piece and
//! fits the first-level cache. Values are f32, or 8-bit codes with one scale (and minimum) per group
//! of inner positions and column, which reproduces the dequantized f32 values of a GGUF tensor at a
//! quarter of the memory traffic. An output element is summed over each block in order and the
//! blocks are added in order, whatever the number of rows: results do not depend on batch mates.

use std::cell::RefCell;
use std::ops::Range;

use rayon::prelude::*;

use super::shared::Shared;
use super::{buffers, vectorized};

use self::tile::{TileTarget, tile_product};

mod tile;

/// Columns of a panel.
const WIDTH: usize = 16;
/// Inner positions of a block.
const DEPTH: usize = 256;
/// Rows of a register tile.
const TILE: usize = 6;
/// Rows whose block (of `DEPTH` positions) stays in the second-level cache.
const ROWS: usize = 16 * TILE;
/// Blocks whose rows are packed at a time.
const BLOCKS: usize = 20;
/// Panels that a task sums up at a time.
const GROUP: usize = 8;

/// A `[K, M]` weight, cut for products from the left.
pub(crate) struct Panels {
    inner: usize,
    columns: usize,
    values: Values,
}

enum Values {
    Float(Vec<f32>),
    Coded {
        codes: Vec<i8>,
        /// Per group and column of a panel; `minima` is empty if every minimum is 0.
        scales: Vec<f32>,
        minima: Vec<f32>,
        group: usize,
    },
}

/// One column of a weight in 8-bit codes: `code * scale - minimum`, a scale and minimum per `group` codes.
pub(crate) struct CodedColumn<'a> {
    pub(crate) codes: &'a mut [i8],
    pub(crate) scales: &'a mut [f32],
    pub(crate) minima: &'a mut [f32],
}

/// `[N, K]` values whose rows start `stride` apart.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) rows: usize,
    pub(crate) stride: usize,
}

/// Where the `[N, M]` product goes: rows start `stride` apart, at column `offset`.
pub(crate) struct Target<'a> {
    pub(crate) values: &'a mut [f32],
    pub(crate) stride: usize,
    pub(crate) offset: usize,
    /// Add to what is there, or replace it.
    pub(crate) add: bool,
}

impl Panels {
    /// Ends the use of a transposed weight, whose memory the next one takes over.
    pub(crate) fn recycle(self) {
        if let Values::Float(values) = self.values {
            buffers::give(values);
        }
    }

    /// `M`, the columns.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Cuts a weight whose column `m` (an output row of a GGUF tensor) is written by `fill(m, out)`.
    ///
    /// # Shapes
    /// - `out`: `[K]`
    pub(crate) fn float(inner: usize, columns: usize, fill: impl Fn(usize, &mut [f32]) + Sync) -> Self {
        let mut values = vec![0.0; inner * columns.next_multiple_of(WIDTH)];
        let shared = Shared::new(&mut values);
        let panels = columns.div_ceil(WIDTH);
        (0..panels).into_par_iter().for_each_init(
            || vec![0.0; inner],
            |row, panel| {
                for lane in 0..WIDTH.min(columns - panel * WIDTH) {
                    fill(panel * WIDTH + lane, row);
                    for (block, row) in row.chunks(DEPTH).enumerate() {
                        let start = block_start(block, panel, panels, row.len());
                        #[expect(unsafe_code, reason = "panels are filled in parallel")]
                        // SAFETY: this task alone touches the blocks of `panel`, one part at a time.
                        let target = unsafe { shared.part(start, row.len() * WIDTH) };
                        for (target, value) in target.chunks_exact_mut(WIDTH).zip(row) {
                            target[lane] = *value;
                        }
                    }
                }
            },
        );
        Self {
            inner,
            columns,
            values: Values::Float(values),
        }
    }

    /// Cuts a weight of 8-bit codes, whose column `m` is written by `fill(m, column)`.
    ///
    /// `group` divides 256 and `inner`; `with_minima` tells whether minima are kept.
    pub(crate) fn coded(
        inner: usize,
        columns: usize,
        group: usize,
        with_minima: bool,
        fill: impl Fn(usize, CodedColumn<'_>) + Sync,
    ) -> Self {
        let panels = columns.div_ceil(WIDTH);
        let mut codes = vec![0_i8; inner * panels * WIDTH];
        let mut scales = vec![0.0_f32; inner / group * panels * WIDTH];
        let mut minima = vec![0.0_f32; if with_minima { scales.len() } else { 0 }];
        let (shared_codes, shared_scales, shared_minima) = (
            Shared::new(&mut codes),
            Shared::new(&mut scales),
            Shared::new(&mut minima),
        );
        (0..panels).into_par_iter().for_each_init(
            || {
                (
                    vec![0_i8; inner],
                    vec![0.0; inner / group],
                    vec![0.0; inner / group],
                )
            },
            |(codes, scales, minima), panel| {
                for lane in 0..WIDTH.min(columns - panel * WIDTH) {
                    fill(
                        panel * WIDTH + lane,
                        CodedColumn {
                            codes,
                            scales,
                            minima,
                        },
                    );
                    for (block, codes) in codes.chunks(DEPTH).enumerate() {
                        let depth = codes.len();
                        let start = block_start(block, panel, panels, depth);
                        let groups = block * DEPTH / group..(block * DEPTH + depth) / group;
                        #[expect(unsafe_code, reason = "panels are filled in parallel")]
                        // SAFETY: this task alone touches the blocks of `panel`, one part at a time.
                        unsafe {
                            spread(shared_codes.part(start, depth * WIDTH), codes, lane);
                            let (start, len) = (start / group, depth / group * WIDTH);
                            spread(shared_scales.part(start, len), &scales[groups.clone()], lane);
                            if with_minima {
                                spread(shared_minima.part(start, len), &minima[groups], lane);
                            }
                        }
                    }
                }
            },
        );
        Self {
            inner,
            columns,
            values: Values::Coded {
                codes,
                scales,
                minima,
                group,
            },
        }
    }

    /// The transposed weight `[M, K]`, in f32.
    pub(crate) fn transposed(&self) -> Self {
        let panels = self.columns.div_ceil(WIDTH);
        let (inner, columns) = (self.columns, self.inner);
        let mut values = buffers::take(inner * columns.next_multiple_of(WIDTH));
        let target_panels = columns.div_ceil(WIDTH);
        let shared = Shared::new(&mut values);
        // A task takes one panel of the source: 16 inner positions of the target, in all its panels.
        (0..panels).into_par_iter().for_each_init(
            || vec![0.0; DEPTH * WIDTH],
            |scratch, panel| {
                let lanes = WIDTH.min(self.columns - panel * WIDTH);
                let target_block = panel * WIDTH / DEPTH;
                let target_depth = DEPTH.min(inner - target_block * DEPTH);
                for block in 0..self.inner.div_ceil(DEPTH) {
                    let source = self.block(block, panel, scratch);
                    for (index, strip) in source.chunks(WIDTH * WIDTH).enumerate() {
                        let target_panel = block * DEPTH / WIDTH + index;
                        let start = block_start(target_block, target_panel, target_panels, target_depth)
                            + (panel * WIDTH - target_block * DEPTH) * WIDTH;
                        #[expect(unsafe_code, reason = "panels are filled in parallel")]
                        // SAFETY: the 16 inner positions of this task's panel belong to it alone.
                        let target = unsafe { shared.part(start, lanes * WIDTH) };
                        for (column, source) in strip.chunks_exact(WIDTH).enumerate() {
                            for lane in 0..lanes {
                                target[lane * WIDTH + column] = source[lane];
                            }
                        }
                    }
                }
            },
        );
        Self {
            inner,
            columns,
            values: Values::Float(values),
        }
    }

    /// `target (+)= rows · weight`.
    ///
    /// # Shapes
    /// - `rows`: `[N, K]`, `target`: `[N, M]`
    pub(crate) fn multiply(&self, rows: View<'_>, target: Target<'_>) {
        if rows.rows == 0 {
            return;
        }
        assert!(
            rows.stride >= self.inner
                && (rows.rows - 1) * rows.stride + self.inner <= rows.values.len()
                && target.offset + self.columns <= target.stride
                && (rows.rows - 1) * target.stride + target.offset + self.columns <= target.values.len(),
            "matrix product out of bounds"
        );
        let panels = self.columns.div_ceil(WIDTH);
        let row_chunks = rows.rows.div_ceil(ROWS);
        let wanted = (4 * rayon::current_num_threads()).div_ceil(row_chunks);
        // Small products are not worth a second thread; panels of a task are even for wider tiles.
        let panels_per_task = if rows.rows * self.inner * self.columns < 1 << 18 {
            panels
        } else {
            panels.div_ceil(wanted).max(1)
        };
        let panel_chunks = panels.div_ceil(panels_per_task);
        let output = Output {
            values: Shared::new(target.values),
            stride: target.stride,
            offset: target.offset,
            add: target.add,
        };
        // Tasks that share rows also share their packed form.
        let shared = (panel_chunks > 1 && self.inner <= BLOCKS * DEPTH).then(|| self.pack_all(rows));
        let run = |task: usize| {
            let (row_chunk, panel_chunk) = (task % row_chunks, task / row_chunks);
            let first = panel_chunk * panels_per_task;
            let panels = first..(first + panels_per_task).min(panels);
            SCRATCH.with_borrow_mut(|scratch| {
                let Scratch {
                    rows: packed,
                    weights,
                } = scratch;
                let source = match &shared {
                    Some(shared) => Source::Packed(&shared[row_chunk * ROWS * self.inner..]),
                    None => Source::Rows(rows, packed),
                };
                let part = Part {
                    first_row: row_chunk * ROWS,
                    rows: rows.rows,
                    panels,
                };
                self.multiply_part(source, part, &output, weights);
            });
        };
        let tasks = row_chunks * panel_chunks;
        if tasks == 1 {
            run(0);
        } else {
            (0..tasks).into_par_iter().with_max_len(1).for_each(run);
        }
    }

    /// All rows in packed form: `ROWS` rows after `ROWS` rows, block after block.
    fn pack_all(&self, rows: View<'_>) -> Vec<f32> {
        let chunks = rows.rows.div_ceil(ROWS);
        let mut packed = vec![0.0; chunks * ROWS * self.inner];
        packed
            .par_chunks_mut(ROWS * self.inner)
            .enumerate()
            .for_each(|(chunk, packed)| {
                let range = chunk * ROWS..((chunk + 1) * ROWS).min(rows.rows);
                self.pack_blocks(rows, range, 0..self.inner.div_ceil(DEPTH), packed);
            });
        packed
    }

    /// Some blocks of up to `ROWS` rows in packed form, block after block.
    fn pack_blocks(&self, rows: View<'_>, range: Range<usize>, blocks: Range<usize>, packed: &mut [f32]) {
        for (index, block) in blocks.enumerate() {
            let (start, depth) = (block * DEPTH, DEPTH.min(self.inner - block * DEPTH));
            pack_rows(
                rows,
                range.clone(),
                start,
                &mut packed[index * ROWS * DEPTH..][..ROWS * depth],
            );
        }
    }

    /// The product of up to `ROWS` rows with some panels.
    fn multiply_part(&self, mut source: Source<'_>, part: Part, output: &Output<'_>, scratch: &mut [f32]) {
        let first_row = part.first_row;
        let row_count = ROWS.min(part.rows - first_row);
        let blocks = self.inner.div_ceil(DEPTH);
        for first_block in (0..blocks).step_by(BLOCKS) {
            let blocks = first_block..(first_block + BLOCKS).min(blocks);
            let packed: &[f32] = match &mut source {
                Source::Packed(packed) => packed,
                Source::Rows(rows, packed) => {
                    self.pack_blocks(*rows, first_row..first_row + row_count, blocks.clone(), packed);
                    packed
                }
            };
            // Some panels at a time, so that their sums stay in a near cache from block to block.
            for first_panel in part.panels.clone().step_by(GROUP) {
                for block in blocks.clone() {
                    let depth = DEPTH.min(self.inner - block * DEPTH);
                    let packed = &packed[(block - first_block) * ROWS * DEPTH..][..ROWS * depth];
                    for panel in first_panel..(first_panel + GROUP).min(part.panels.end) {
                        let weights = self.block(block, panel, scratch);
                        let lanes = WIDTH.min(self.columns - panel * WIDTH);
                        for tile in 0..row_count.div_ceil(TILE) {
                            let rows = TILE.min(row_count - tile * TILE);
                            let packed = &packed[tile * TILE * depth..(tile + 1) * TILE * depth];
                            let row = first_row + tile * TILE;
                            let target = TileTarget {
                                values: &output.values,
                                start: row * output.stride + output.offset + panel * WIDTH,
                                stride: output.stride,
                                lanes,
                                add: output.add || block > 0,
                            };
                            #[expect(unsafe_code, reason = "tasks write disjoint parts of one matrix")]
                            // SAFETY: a task alone writes its rows and panels.
                            unsafe {
                                tile_product(rows, packed, weights, &target);
                            }
                        }
                    }
                }
            }
        }
    }

    /// A block of a panel in f32, `[depth, 16]`; decoded into `scratch` if it is coded.
    fn block<'a>(&'a self, block: usize, panel: usize, scratch: &'a mut [f32]) -> &'a [f32] {
        let depth = DEPTH.min(self.inner - block * DEPTH);
        let start = block_start(block, panel, self.columns.div_ceil(WIDTH), depth);
        let len = depth * WIDTH;
        match &self.values {
            Values::Float(values) => &values[start..start + len],
            Values::Coded {
                codes,
                scales,
                minima,
                group,
            } => {
                let groups = start / group..(start + len) / group;
                let out = &mut scratch[..len];
                if minima.is_empty() {
                    decode(&codes[start..start + len], &scales[groups], *group, out);
                } else {
                    decode_with_minima(
                        &codes[start..start + len],
                        &scales[groups.clone()],
                        &minima[groups],
                        *group,
                        out,
                    );
                }
                out
            }
        }
    }
}

/// The rows of a task, to be packed or packed already.
enum Source<'a> {
    Rows(View<'a>, &'a mut Vec<f32>),
    Packed(&'a [f32]),
}

/// The share of a task: up to `ROWS` rows from `first_row` on, of `rows` in all, and some panels.
struct Part {
    first_row: usize,
    rows: usize,
    panels: Range<usize>,
}

struct Output<'a> {
    values: Shared<'a, f32>,
    stride: usize,
    offset: usize,
    add: bool,
}

/// Buffers of one thread.
struct Scratch {
    rows: Vec<f32>,
    weights: Vec<f32>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch {
        rows: vec![0.0; ROWS * DEPTH * BLOCKS],
        weights: vec![0.0; DEPTH * WIDTH],
    });
}

/// Where a block of a panel starts: all panels of block 0, then all of block 1, and so on.
fn block_start(block: usize, panel: usize, panels: usize, depth: usize) -> usize {
    (block * DEPTH * panels + panel * depth) * WIDTH
}

/// Writes `values` to lane `lane` of rows of 16.
fn spread<T: Copy>(target: &mut [T], values: &[T], lane: usize) {
    for (target, value) in target.chunks_exact_mut(WIDTH).zip(values) {
        target[lane] = *value;
    }
}

/// Copies part of some rows into tiles of `[depth, 6]`; the last tile's missing rows keep old values.
fn pack_rows(rows: View<'_>, range: Range<usize>, start: usize, packed: &mut [f32]) {
    let depth = packed.len() / ROWS;
    for (tile, first) in range.clone().step_by(TILE).enumerate() {
        let packed = &mut packed[tile * TILE * depth..(tile + 1) * TILE * depth];
        let row = |index: usize| &rows.values[(first + index) * rows.stride + start..][..depth];
        if first + TILE <= range.end {
            let rows: [&[f32]; TILE] = std::array::from_fn(row);
            for (index, packed) in packed.as_chunks_mut::<TILE>().0.iter_mut().enumerate() {
                *packed = std::array::from_fn(|row| rows[row][index]);
            }
        } else {
            for index in 0..range.end - first {
                for (packed, value) in packed.chunks_exact_mut(TILE).zip(row(index)) {
                    packed[index] = *value;
                }
            }
        }
    }
}

vectorized! {
    fn decode(codes: &[i8], scales: &[f32], group: usize, out: &mut [f32]) {
        for ((out, codes), scales) in out
            .chunks_exact_mut(group * WIDTH)
            .zip(codes.chunks_exact(group * WIDTH))
            .zip(scales.chunks_exact(WIDTH))
        {
            for (out, codes) in out.chunks_exact_mut(WIDTH).zip(codes.chunks_exact(WIDTH)) {
                for lane in 0..WIDTH {
                    out[lane] = f32::from(codes[lane]) * scales[lane];
                }
            }
        }
    }
}

vectorized! {
    fn decode_with_minima(codes: &[i8], scales: &[f32], minima: &[f32], group: usize, out: &mut [f32]) {
        for (((out, codes), scales), minima) in out
            .chunks_exact_mut(group * WIDTH)
            .zip(codes.chunks_exact(group * WIDTH))
            .zip(scales.chunks_exact(WIDTH))
            .zip(minima.chunks_exact(WIDTH))
        {
            for (out, codes) in out.chunks_exact_mut(WIDTH).zip(codes.chunks_exact(WIDTH)) {
                for lane in 0..WIDTH {
                    out[lane] = f32::from(codes[lane]) * scales[lane] - minima[lane];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
