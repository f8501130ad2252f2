//! Metrics as functions on slices, with scikit-learn's meaning.

/// Why a metric has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetricError {
    /// No rows.
    #[error("there are no rows to score")]
    Empty,
    /// Truth and predictions differ in length.
    #[error("{truth} true values, but {predicted} predictions")]
    Length {
        /// Number of true values.
        truth: usize,
        /// Number of predictions.
        predicted: usize,
    },
    /// AUC of rows that are all of one class.
    #[error("all rows are of one class")]
    OneClass,
    /// A value is NaN or infinite, or the result is.
    #[error("a value is not finite, or too large to score")]
    NotFinite,
    /// A class number that is not below the number of classes.
    #[error("class {class} of {classes}")]
    Class {
        /// The number.
        class: usize,
        /// How many there are.
        classes: usize,
    },
}

/// Share of predictions that equal the truth, 0 to 1.
pub fn accuracy<T: PartialEq>(truth: &[T], predicted: &[T]) -> Result<f64, MetricError> {
    check_lengths(truth.len(), predicted.len())?;
    let right = truth.iter().zip(predicted).filter(|(a, b)| a == b).count();
    Ok(right as f64 / truth.len() as f64)
}

/// Area under the ROC curve: the chance that a positive row has a higher score than a negative one, ties counting
/// half (midranks). Exact up to the last division.
pub fn auc(truth: &[bool], scores: &[f64]) -> Result<f64, MetricError> {
    check_lengths(truth.len(), scores.len())?;
    if scores.iter().any(|score| !score.is_finite()) {
        return Err(MetricError::NotFinite);
    }
    // Adding 0.0 makes -0.0 equal to 0.0 under total_cmp too.
    let mut rows: Vec<(f64, bool)> = scores
        .iter()
        .map(|score| score + 0.0)
        .zip(truth.iter().copied())
        .collect();
    rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut negatives_below, mut positives) = (0u128, 0u128);
    let mut twice_wins = 0u128;
    for tied in rows.chunk_by(|a, b| a.0 == b.0) {
        let tied_positives = tied.iter().filter(|row| row.1).count() as u128;
        let tied_negatives = tied.len() as u128 - tied_positives;
        twice_wins += tied_positives * (2 * negatives_below + tied_negatives);
        negatives_below += tied_negatives;
        positives += tied_positives;
    }
    if positives == 0 || negatives_below == 0 {
        return Err(MetricError::OneClass);
    }
    Ok(twice_wins as f64 / (2 * positives * negatives_below) as f64)
}

/// Root of the mean squared error, in the target's unit.
pub fn rmse(truth: &[f64], predicted: &[f64]) -> Result<f64, MetricError> {
    check_lengths(truth.len(), predicted.len())?;
    let sum: f64 = truth.iter().zip(predicted).map(|(a, b)| (a - b) * (a - b)).sum();
    finite((sum / truth.len() as f64).sqrt())
}

/// Logistic loss of two classes, in nats: `p` is the probability of `true`, clipped to [ε, 1−ε] with ε = 2.2e-16.
pub fn log_loss(truth: &[bool], p: &[f64]) -> Result<f64, MetricError> {
    check_lengths(truth.len(), p.len())?;
    let sum: f64 = truth
        .iter()
        .zip(p)
        .map(|(&yes, &p)| -clip(if yes { p } else { 1.0 - p }).ln())
        .sum();
    finite(sum / truth.len() as f64)
}

/// Logistic loss of many classes, in nats.
///
/// - `truth`: class numbers from 0, length N
/// - `p`: probabilities, `[N, classes]` row by row, clipped to [ε, 1−ε] with ε = 2.2e-16 and not renormalised, as
///   scikit-learn does since 1.5: the caller makes sure that rows sum to 1
pub fn log_loss_multi(truth: &[usize], p: &[f64], classes: usize) -> Result<f64, MetricError> {
    check_lengths(truth.len() * classes, p.len())?;
    let mut sum = 0.0;
    for (&class, row) in truth.iter().zip(p.chunks_exact(classes)) {
        let p = row.get(class).ok_or(MetricError::Class { class, classes })?;
        sum -= clip(*p).ln();
    }
    finite(sum / truth.len() as f64)
}

fn clip(p: f64) -> f64 {
    p.clamp(f64::EPSILON, 1.0 - f64::EPSILON)
}

fn finite(value: f64) -> Result<f64, MetricError> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(MetricError::NotFinite)
    }
}

fn check_lengths(truth: usize, predicted: usize) -> Result<(), MetricError> {
    if truth != predicted {
        return Err(MetricError::Length { truth, predicted });
    }
    if truth == 0 {
        Err(MetricError::Empty)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
