//! Reads a quantized row as 8-bit codes with a scale and a minimum per group, without loss.

use half::f16;

use crate::gguf::{TensorType, TensorView};
use crate::host::panels::CodedColumn;

/// How many values share a scale, and whether they have a minimum; nothing for plain floats.
pub(super) struct Grouping {
    pub(super) group: usize,
    pub(super) minima: bool,
}

/// The grouping of a tensor type.
pub(super) fn grouping(dtype: TensorType) -> Option<Grouping> {
    match dtype {
        TensorType::F32 | TensorType::F16 | TensorType::BF16 => None,
        TensorType::Q4_0 | TensorType::Q5_0 | TensorType::Q8_0 => Some(Grouping {
            group: 32,
            minima: false,
        }),
        TensorType::Q4_1 | TensorType::Q5_1 | TensorType::Q4_K | TensorType::Q5_K => Some(Grouping {
            group: 32,
            minima: true,
        }),
        TensorType::Q6_K => Some(Grouping {
            group: 16,
            minima: false,
        }),
    }
}

/// Writes a row's codes, and its scales and minima for groups of `group` values, which divides the type's own.
///
/// A stored value is `code * scale - minimum` of its group, so the code is the value plus the
/// minimum over the scale, rounded to take away what the f32 value was rounded by.
pub(super) fn read_row(
    tensor: &TensorView<'_>,
    row: usize,
    group: usize,
    values: &mut [f32],
    out: CodedColumn<'_>,
) {
    tensor.dequantize_row(row, values);
    let dtype = tensor.dtype();
    let row_bytes = values.len() / dtype.block_len() * dtype.block_bytes();
    let blocks = tensor.bytes()[row * row_bytes..(row + 1) * row_bytes].chunks_exact(dtype.block_bytes());
    let mut groups = out.scales.iter_mut().zip(out.minima.iter_mut());
    for block in blocks {
        for index in 0..dtype.block_len() / group {
            let own = grouping(dtype).map_or(1, |own| index * group / own.group);
            let (scale, minimum) = scale_and_minimum(dtype, block, own);
            // As many groups as the row has were made by the caller.
            if let Some((out_scale, out_minimum)) = groups.next() {
                (*out_scale, *out_minimum) = (scale, minimum);
            }
        }
    }
    let groups = out.scales.iter().zip(out.minima.iter());
    for ((codes, values), (&scale, &minimum)) in
        out.codes.chunks_mut(group).zip(values.chunks(group)).zip(groups)
    {
        let factor = if scale == 0.0 { 0.0 } else { scale.recip() };
        for (code, value) in codes.iter_mut().zip(values) {
            *code = ((value + minimum) * factor).round() as i8;
        }
    }
}

/// The scale and minimum of a group of a block, in ggml's order of operations.
fn scale_and_minimum(dtype: TensorType, block: &[u8], group: usize) -> (f32, f32) {
    let float = |at: usize| f16::from_le_bytes([block[at], block[at + 1]]).to_f32();
    match dtype {
        TensorType::F32 | TensorType::F16 | TensorType::BF16 => (1.0, 0.0),
        TensorType::Q4_0 | TensorType::Q5_0 | TensorType::Q8_0 => (float(0), 0.0),
        TensorType::Q4_1 | TensorType::Q5_1 => (float(0), -float(2)),
        TensorType::Q4_K | TensorType::Q5_K => {
            let packed = &block[4..16];
            let (scale, minimum) = if group < 4 {
                (packed[group] & 63, packed[group + 4] & 63)
            } else {
                (
                    (packed[group + 4] & 15) | ((packed[group - 4] >> 6) << 4),
                    (packed[group + 4] >> 4) | ((packed[group] >> 6) << 4),
                )
            };
            (float(0) * f32::from(scale), float(2) * f32::from(minimum))
        }
        TensorType::Q6_K => (float(208) * f32::from(block[192 + group].cast_signed()), 0.0),
    }
}

#[cfg(test)]
mod tests;
