//! Correlation of predicted with true numbers, −1 to 1; better when higher.

use crate::{MetricError, check_finite, check_lengths, sum};

/// Pearson's correlation coefficient. Values that don't vary have none.
pub fn pearson(truth: &[f64], predicted: &[f64]) -> Result<f64, MetricError> {
    check_lengths(truth.len(), predicted.len())?;
    check_finite(truth)?;
    check_finite(predicted)?;
    if is_constant(truth) || is_constant(predicted) {
        return Err(MetricError::Constant);
    }
    let (truth, predicted) = (centred(truth), centred(predicted));
    let product = |a: &[f64], b: &[f64]| sum::sum(a.iter().zip(b).map(|(a, b)| a * b));
    let (true_norm, predicted_norm) = (
        product(&truth, &truth).sqrt(),
        product(&predicted, &predicted).sqrt(),
    );
    let r = sum::sum(
        truth
            .iter()
            .zip(&predicted)
            .map(|(a, b)| (a / true_norm) * (b / predicted_norm)),
    );
    Ok(r.clamp(-1.0, 1.0))
}

/// Spearman's rank correlation: Pearson's of the ranks, tied values sharing their mean rank.
/// Infinite values have ranks too.
pub fn spearman(truth: &[f64], predicted: &[f64]) -> Result<f64, MetricError> {
    check_lengths(truth.len(), predicted.len())?;
    if truth.iter().chain(predicted).any(|value| value.is_nan()) {
        return Err(MetricError::NotFinite);
    }
    pearson(&mean_ranks(truth), &mean_ranks(predicted))
}

/// Ranks from 1, tied values sharing the mean of theirs.
fn mean_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    // Adding 0.0 makes -0.0 equal to 0.0 under total_cmp too.
    order.sort_unstable_by(|&a, &b| (values[a] + 0.0).total_cmp(&(values[b] + 0.0)));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        for &row in tied {
            ranks[row] = below as f64 + (tied.len() + 1) as f64 / 2.0;
        }
        below += tied.len();
    }
    ranks
}

fn is_constant(values: &[f64]) -> bool {
    values.iter().all(|value| *value == values[0])
}

/// Distances from the mean, as shares of the largest: squares of huge numbers would overflow.
fn centred(values: &[f64]) -> Vec<f64> {
    let mean = sum::mean(values);
    let distances: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let largest = distances
        .iter()
        .fold(0.0f64, |largest, distance| largest.max(distance.abs()));
    distances.into_iter().map(|distance| distance / largest).collect()
}

#[cfg(test)]
mod tests;
