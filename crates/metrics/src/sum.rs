//! Sums in the order in which numpy adds, so that the last bit agrees.
//!
//! numpy's reduction hands its loop at most 8,192 numbers at a time; each such piece is summed pairwise in blocks of
//! 128 with eight running sums, and the pieces are added from left to right. The error grows as O(log n) within a
//! piece (Higham, "Accuracy and Stability of Numerical Algorithms", 4.2).

/// Numbers that numpy's reduction hands to its loop at a time.
const PIECE: usize = 8192;
/// Largest block that is summed without being split.
const BLOCK: usize = 128;
/// Running sums in a block.
const LANES: usize = 8;

/// Sum of `values` as `numpy.sum` of a float64 vector gives it; 0 for none.
pub fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values = values.into_iter();
    let mut piece = Vec::with_capacity(values.size_hint().0.min(PIECE));
    let mut total = 0.0;
    loop {
        piece.clear();
        piece.extend(values.by_ref().take(PIECE));
        if piece.is_empty() {
            return total;
        }
        total += pairwise(&piece);
    }
}

/// Mean of `values` as `numpy.mean` gives it; NaN for none.
pub fn mean(values: &[f64]) -> f64 {
    sum(values.iter().copied()) / values.len() as f64
}

fn pairwise(values: &[f64]) -> f64 {
    if values.len() < LANES {
        return values.iter().fold(0.0, |total, value| total + value);
    }
    if values.len() > BLOCK {
        let half = values.len() / 2;
        let (left, right) = values.split_at(half - half % LANES);
        return pairwise(left) + pairwise(right);
    }
    let (rows, rest) = values.as_chunks::<LANES>();
    let mut lanes = rows[0];
    for row in &rows[1..] {
        for (lane, value) in lanes.iter_mut().zip(row) {
            *lane += value;
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    rest.iter()
        .fold(((a + b) + (c + d)) + ((e + f) + (g + h)), |total, value| {
            total + value
        })
}

#[cfg(test)]
mod tests;
