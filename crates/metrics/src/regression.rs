//! Errors of predicted numbers; better when lower.

use crate::{MetricError, check_finite, check_lengths, sum};

/// Root of the mean squared error, in the target's unit.
pub fn rmse(truth: &[f64], predicted: &[f64]) -> Result<f64, MetricError> {
    check(truth, predicted)?;
    Ok(root_mean_square(
        truth.iter().zip(predicted).map(|(a, b)| a - b),
        truth.len(),
    ))
}

/// Mean absolute error, in the target's unit.
pub fn mae(truth: &[f64], predicted: &[f64]) -> Result<f64, MetricError> {
    check(truth, predicted)?;
    let total = sum::sum(truth.iter().zip(predicted).map(|(a, b)| (b - a).abs()));
    Ok(total / truth.len() as f64)
}

/// Root of the mean squared difference of ln(1 + value), no unit. No value may be negative.
pub fn rmsle(truth: &[f64], predicted: &[f64]) -> Result<f64, MetricError> {
    check(truth, predicted)?;
    if truth.iter().chain(predicted).any(|value| *value < 0.0) {
        return Err(MetricError::Negative);
    }
    let differences = truth.iter().zip(predicted).map(|(a, b)| a.ln_1p() - b.ln_1p());
    Ok(root_mean_square(differences, truth.len()))
}

fn check(truth: &[f64], predicted: &[f64]) -> Result<(), MetricError> {
    check_lengths(truth.len(), predicted.len())?;
    check_finite(truth)?;
    check_finite(predicted)
}

fn root_mean_square(differences: impl Iterator<Item = f64>, count: usize) -> f64 {
    (sum::sum(differences.map(|difference| difference * difference)) / count as f64).sqrt()
}

#[cfg(test)]
mod tests;
