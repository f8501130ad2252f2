//! How are the values of each tensor type stored? Decoders for all block layouts.
//!
//! Each decoder computes in the order of operations of ggml's reference code, so that results
//! are equal to the bit. `d` is a block's scale, `m` its minimum, `q` a stored integer.

use std::fmt;

use half::{bf16, f16};

/// How a tensor's values are stored: plain floats, or blocks of small integers with a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(
    non_camel_case_types,
    reason = "these are the names that ggml and its files use"
)]
pub enum TensorType {
    /// 32-bit floats.
    F32,
    /// 16-bit IEEE floats.
    F16,
    /// 16-bit brain floats.
    BF16,
    /// 32 values of 4 bits: `(q - 8)·d`.
    Q4_0,
    /// 32 values of 4 bits: `q·d + m`.
    Q4_1,
    /// 32 values of 5 bits: `(q - 16)·d`.
    Q5_0,
    /// 32 values of 5 bits: `q·d + m`.
    Q5_1,
    /// 32 values of 8 bits: `q·d`.
    Q8_0,
    /// 256 values of 4 bits, scale and minimum for each 32: `d·s·q - m·t`.
    Q4_K,
    /// 256 values of 5 bits, scale and minimum for each 32: `d·s·q - m·t`.
    Q5_K,
    /// 256 values of 6 bits, scale for each 16: `d·s·(q - 32)`.
    Q6_K,
}

impl TensorType {
    const ALL: [(u32, Self); 11] = [
        (0, Self::F32),
        (1, Self::F16),
        (2, Self::Q4_0),
        (3, Self::Q4_1),
        (6, Self::Q5_0),
        (7, Self::Q5_1),
        (8, Self::Q8_0),
        (12, Self::Q4_K),
        (13, Self::Q5_K),
        (14, Self::Q6_K),
        (30, Self::BF16),
    ];

    /// Values in a block.
    pub fn block_len(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::BF16 => 1,
            Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 | Self::Q8_0 => 32,
            Self::Q4_K | Self::Q5_K | Self::Q6_K => 256,
        }
    }

    /// Bytes of a block.
    pub fn block_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::BF16 => 2,
            Self::Q4_0 => 18,
            Self::Q4_1 => 20,
            Self::Q5_0 => 22,
            Self::Q5_1 => 24,
            Self::Q8_0 => 34,
            Self::Q4_K => 144,
            Self::Q5_K => 176,
            Self::Q6_K => 210,
        }
    }

    pub(super) fn from_id(id: u32) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|&&(known, _)| known == id)
            .map(|&(_, dtype)| dtype)
    }

    /// All types with their ids, for error messages.
    pub(super) fn known() -> String {
        Self::ALL.map(|(id, dtype)| format!("{dtype} ({id})")).join(", ")
    }

    /// Decodes whole blocks. `bytes` and `out` hold the same number of blocks.
    pub(super) fn dequantize(self, bytes: &[u8], out: &mut [f32]) {
        debug_assert_eq!(
            bytes.len() / self.block_bytes() * self.block_len(),
            out.len(),
            "blocks in and out"
        );
        match self {
            Self::F32 => each::<4, 1>(bytes, out, |block, out| out[0] = f32::from_le_bytes(*block)),
            Self::F16 => each::<2, 1>(bytes, out, |block, out| {
                out[0] = f16::from_le_bytes(*block).to_f32();
            }),
            Self::BF16 => each::<2, 1>(bytes, out, |block, out| {
                out[0] = bf16::from_le_bytes(*block).to_f32();
            }),
            Self::Q4_0 => each(bytes, out, q4_0),
            Self::Q4_1 => each(bytes, out, q4_1),
            Self::Q5_0 => each(bytes, out, q5_0),
            Self::Q5_1 => each(bytes, out, q5_1),
            Self::Q8_0 => each(bytes, out, q8_0),
            Self::Q4_K => each(bytes, out, q4_k),
            Self::Q5_K => each(bytes, out, q5_k),
            Self::Q6_K => each(bytes, out, q6_k),
        }
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Applies `decode` to each block of `BYTES` bytes and `LEN` values.
fn each<const BYTES: usize, const LEN: usize>(
    bytes: &[u8],
    out: &mut [f32],
    decode: impl Fn(&[u8; BYTES], &mut [f32; LEN]),
) {
    let (blocks, _) = bytes.as_chunks::<BYTES>();
    let (outs, _) = out.as_chunks_mut::<LEN>();
    for (block, out) in blocks.iter().zip(outs) {
        decode(block, out);
    }
}

/// The half-precision number at byte `at`.
fn half_at(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

fn q4_0(block: &[u8; 18], out: &mut [f32; 32]) {
    let d = half_at(block, 0);
    for j in 0..16 {
        let q = block[2 + j];
        out[j] = (f32::from(q & 15) - 8.0) * d;
        out[j + 16] = (f32::from(q >> 4) - 8.0) * d;
    }
}

fn q4_1(block: &[u8; 20], out: &mut [f32; 32]) {
    let (d, m) = (half_at(block, 0), half_at(block, 2));
    for j in 0..16 {
        let q = block[4 + j];
        out[j] = f32::from(q & 15) * d + m;
        out[j + 16] = f32::from(q >> 4) * d + m;
    }
}

/// The fifth bits of 32 values: bit j of the word belongs to value j.
fn fifth_bits(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
}

fn q5_0(block: &[u8; 22], out: &mut [f32; 32]) {
    let d = half_at(block, 0);
    let high = fifth_bits(block, 2);
    for j in 0..16 {
        let q = block[6 + j];
        let low_half = (q & 15) | (((high >> j) & 1) << 4) as u8;
        let high_half = (q >> 4) | (((high >> (j + 16)) & 1) << 4) as u8;
        out[j] = (f32::from(low_half) - 16.0) * d;
        out[j + 16] = (f32::from(high_half) - 16.0) * d;
    }
}

fn q5_1(block: &[u8; 24], out: &mut [f32; 32]) {
    let (d, m) = (half_at(block, 0), half_at(block, 2));
    let high = fifth_bits(block, 4);
    for j in 0..16 {
        let q = block[8 + j];
        let low_half = (q & 15) | (((high >> j) & 1) << 4) as u8;
        let high_half = (q >> 4) | (((high >> (j + 16)) & 1) << 4) as u8;
        out[j] = f32::from(low_half) * d + m;
        out[j + 16] = f32::from(high_half) * d + m;
    }
}

fn q8_0(block: &[u8; 34], out: &mut [f32; 32]) {
    let d = half_at(block, 0);
    for j in 0..32 {
        out[j] = f32::from(block[2 + j].cast_signed()) * d;
    }
}

/// Scale and minimum of the `j`-th 32 values, 6 bits each, packed in 12 bytes.
fn scale_and_min(packed: &[u8], j: usize) -> (f32, f32) {
    let (scale, min) = if j < 4 {
        (packed[j] & 63, packed[j + 4] & 63)
    } else {
        (
            (packed[j + 4] & 15) | ((packed[j - 4] >> 6) << 4),
            (packed[j + 4] >> 4) | ((packed[j] >> 6) << 4),
        )
    };
    (f32::from(scale), f32::from(min))
}

fn q4_k(block: &[u8; 144], out: &mut [f32; 256]) {
    let (d, m) = (half_at(block, 0), half_at(block, 2));
    let (scales, quants) = block[4..].split_at(12);
    for group in 0..4 {
        let (scale, min) = scale_and_min(scales, 2 * group);
        let (d1, m1) = (d * scale, m * min);
        let (scale, min) = scale_and_min(scales, 2 * group + 1);
        let (d2, m2) = (d * scale, m * min);
        let quants = &quants[group * 32..][..32];
        let (low, high) = out[group * 64..][..64].split_at_mut(32);
        for j in 0..32 {
            low[j] = d1 * f32::from(quants[j] & 15) - m1;
            high[j] = d2 * f32::from(quants[j] >> 4) - m2;
        }
    }
}

fn q5_k(block: &[u8; 176], out: &mut [f32; 256]) {
    let (d, m) = (half_at(block, 0), half_at(block, 2));
    let (scales, rest) = block[4..].split_at(12);
    let (fifths, quants) = rest.split_at(32);
    for group in 0..4 {
        let (scale, min) = scale_and_min(scales, 2 * group);
        let (d1, m1) = (d * scale, m * min);
        let (scale, min) = scale_and_min(scales, 2 * group + 1);
        let (d2, m2) = (d * scale, m * min);
        let quants = &quants[group * 32..][..32];
        let (low, high) = out[group * 64..][..64].split_at_mut(32);
        for j in 0..32 {
            let fifth = fifths[j] >> (2 * group);
            low[j] = d1 * f32::from((quants[j] & 15) | ((fifth & 1) << 4)) - m1;
            high[j] = d2 * f32::from((quants[j] >> 4) | ((fifth & 2) << 3)) - m2;
        }
    }
}

fn q6_k(block: &[u8; 210], out: &mut [f32; 256]) {
    let d = half_at(block, 208);
    let (lows, rest) = block.split_at(128);
    let (highs, rest) = rest.split_at(64);
    let scales = &rest[..16];
    for half in 0..2 {
        let lows = &lows[half * 64..][..64];
        let highs = &highs[half * 32..][..32];
        let scales = &scales[half * 8..][..8];
        let out = &mut out[half * 128..][..128];
        for quarter in 0..4 {
            let out = &mut out[quarter * 32..][..32];
            let lows = &lows[(quarter % 2) * 32..][..32];
            let low_shift = (quarter / 2) * 4;
            for j in 0..32 {
                let scale = d * f32::from(scales[quarter * 2 + j / 16].cast_signed());
                let low = (lows[j] >> low_shift) & 15;
                let high = (highs[j] >> (quarter * 2)) & 3;
                out[j] = scale * (f32::from(low | (high << 4)) - 32.0);
            }
        }
    }
}
