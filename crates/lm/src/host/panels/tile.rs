//! The register tile: up to 6 rows by 16 columns over one block of inner positions.

use super::{TILE, WIDTH};
use crate::host::shared::Shared;

/// Where the sums of a tile go: rows start `stride` apart, the first at `start`; `lanes` of its 16 columns exist.
pub(super) struct TileTarget<'a> {
    pub(super) values: &'a Shared<'a, f32>,
    pub(super) start: usize,
    pub(super) stride: usize,
    pub(super) lanes: usize,
    /// Add to what is there, or replace it.
    pub(super) add: bool,
}

/// `target[r] (+)= Σ_k rows[k][r] * weights[k]` for the first `count` rows of a tile.
///
/// # Shapes
/// - `rows`: `[K, 6]`, `weights`: `[K, 16]`, `target`: `[count, lanes]`
///
/// # Safety
/// No other thread touches the target's elements meanwhile.
#[expect(unsafe_code, reason = "tasks write disjoint parts of one matrix")]
pub(super) unsafe fn tile_product(count: usize, rows: &[f32], weights: &[f32], target: &TileTarget<'_>) {
    assert!(
        rows.len() / TILE == weights.len() / WIDTH && (1..=TILE).contains(&count),
        "tile and block differ in depth"
    );
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
        let mut sums = [0.0_f32; TILE * WIDTH];
        let (out, stride, add) = if target.lanes == WIDTH {
            let out = target
                .values
                .pointer(target.start, (count - 1) * target.stride + WIDTH);
            (out, target.stride, target.add)
        } else {
            (sums.as_mut_ptr(), WIDTH, false)
        };
        // SAFETY: both features were just detected; both slices hold the same depth; `out` is
        // followed by `count` rows of 16 values, `stride` apart, that are ours.
        unsafe {
            match count {
                1 => avx2::tile_product::<1>(rows, weights, out, stride, add),
                2 => avx2::tile_product::<2>(rows, weights, out, stride, add),
                3 => avx2::tile_product::<3>(rows, weights, out, stride, add),
                4 => avx2::tile_product::<4>(rows, weights, out, stride, add),
                5 => avx2::tile_product::<5>(rows, weights, out, stride, add),
                _ => avx2::tile_product::<6>(rows, weights, out, stride, add),
            }
        }
        if target.lanes < WIDTH {
            // SAFETY: as promised by the caller.
            unsafe { target.write(&sums[..count * WIDTH]) };
        }
        return;
    }
    let mut sums = [0.0_f32; TILE * WIDTH];
    for (rows, weights) in rows.chunks_exact(TILE).zip(weights.chunks_exact(WIDTH)) {
        for (sums, row) in sums.chunks_exact_mut(WIDTH).zip(rows).take(count) {
            for lane in 0..WIDTH {
                sums[lane] += row * weights[lane];
            }
        }
    }
    // SAFETY: as promised by the caller.
    unsafe { target.write(&sums[..count * WIDTH]) };
}

impl TileTarget<'_> {
    /// Writes or adds rows of 16 sums.
    ///
    /// # Safety
    /// As for [`tile_product`].
    #[expect(unsafe_code, reason = "tasks write disjoint parts of one matrix")]
    unsafe fn write(&self, sums: &[f32]) {
        for (row, sums) in sums.chunks_exact(WIDTH).enumerate() {
            // SAFETY: promised by the caller, and one part at a time.
            let out = unsafe { self.values.part(self.start + row * self.stride, self.lanes) };
            if self.add {
                out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
            } else {
                out.copy_from_slice(&sums[..self.lanes]);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    //! The tile in 12 vector registers of 8 columns.

    use std::arch::x86_64::{
        _MM_HINT_T0, _mm_prefetch, _mm256_add_ps, _mm256_broadcast_ss, _mm256_fmadd_ps, _mm256_loadu_ps,
        _mm256_setzero_ps, _mm256_storeu_ps,
    };

    use super::{TILE, WIDTH};

    /// # Safety
    /// `rows` holds `K * 6` and `weights` `K * 16` values for the same `K`; `ROWS <= 6`; rows of 16
    /// writable values start at `out`, `stride` apart.
    #[target_feature(enable = "avx2,fma")]
    #[expect(unsafe_code, reason = "loads and stores of vectors")]
    pub(super) unsafe fn tile_product<const ROWS: usize>(
        rows: &[f32],
        weights: &[f32],
        out: *mut f32,
        stride: usize,
        add: bool,
    ) {
        let mut left = [_mm256_setzero_ps(); ROWS];
        let mut right = [_mm256_setzero_ps(); ROWS];
        let (mut row, mut weight) = (rows.as_ptr(), weights.as_ptr());
        // SAFETY: the loop reads `K` steps of 6 and 16 values and then accesses `ROWS` rows of 16
        // values from `out` on, all promised by the caller.
        unsafe {
            for index in 0..ROWS {
                // The target's rows lie far apart: have them near when the sums are done.
                _mm_prefetch::<_MM_HINT_T0>(out.add(index * stride).cast_const().cast());
            }
            for _ in 0..weights.len() / WIDTH {
                let (first, second) = (_mm256_loadu_ps(weight), _mm256_loadu_ps(weight.add(8)));
                for index in 0..ROWS {
                    let value = _mm256_broadcast_ss(&*row.add(index));
                    left[index] = _mm256_fmadd_ps(value, first, left[index]);
                    right[index] = _mm256_fmadd_ps(value, second, right[index]);
                }
                row = row.add(TILE);
                weight = weight.add(WIDTH);
            }
            for index in 0..ROWS {
                let out = out.add(index * stride);
                if add {
                    left[index] = _mm256_add_ps(_mm256_loadu_ps(out), left[index]);
                    right[index] = _mm256_add_ps(_mm256_loadu_ps(out.add(8)), right[index]);
                }
                _mm256_storeu_ps(out, left[index]);
                _mm256_storeu_ps(out.add(8), right[index]);
            }
        }
    }
}
