//! Logistic loss: the mean of −ln(probability given to what was true), in nats; better when lower.

use crate::{MetricError, check_finite, check_lengths, sum};

/// Logistic loss of two classes, in nats: `p` is the probability of `true`, clipped to [ε, 1−ε] with ε = 2.2e-16.
pub fn log_loss(truth: &[bool], p: &[f64]) -> Result<f64, MetricError> {
    check_lengths(truth.len(), p.len())?;
    check_finite(p)?;
    let losses = truth
        .iter()
        .zip(p)
        .map(|(&yes, &p)| -clip(if yes { p } else { 1.0 - p }).ln());
    Ok(sum::sum(losses) / truth.len() as f64)
}

/// Logistic loss of many classes, in nats.
///
/// - `truth`: class numbers from 0, length N
/// - `p`: probabilities, `[N, classes]` row by row, clipped to [ε, 1−ε] with ε = 2.2e-16 and not renormalised, as
///   scikit-learn does since 1.5: the caller makes sure that rows sum to 1
pub fn log_loss_multi(truth: &[usize], p: &[f64], classes: usize) -> Result<f64, MetricError> {
    check_lengths(truth.len() * classes, p.len())?;
    check_finite(p)?;
    let losses = truth
        .iter()
        .zip(p.chunks_exact(classes))
        .map(|(&class, row)| {
            let p = row.get(class).ok_or(MetricError::Class { class, classes })?;
            Ok(-clip(*p).ln())
        })
        .collect::<Result<Vec<f64>, MetricError>>()?;
    Ok(sum::mean(&losses))
}

fn clip(p: f64) -> f64 {
    p.clamp(f64::EPSILON, 1.0 - f64::EPSILON)
}

#[cfg(test)]
mod tests;
