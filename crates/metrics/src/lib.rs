//! Metrics as pure functions on slices, with the meaning that scikit-learn 1.5 gives them.
//!
//! One file per family: [`label`] (accuracy, F1, kappa), [`roc`] (AUC), [`log_loss`], [`regression`] (RMSE, MAE,
//! RMSLE), [`correlation`] (Pearson, Spearman) and [`ranking`] (MAP@k). Sums are added in numpy's order ([`sum`]), so
//! that a score equals scikit-learn's to the last bit wherever no logarithm or BLAS call is part of it.
//!
//! Every function wants finite numbers and says so if they are not; finite numbers that are too large give an
//! infinite score, as they do in numpy.

pub mod correlation;
pub mod label;
pub mod log_loss;
pub mod ranking;
pub mod regression;
pub mod roc;
pub mod sum;

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
    /// A correlation or kappa of values that don't vary: 0 divided by 0, NaN in scikit-learn and scipy.
    #[error("the values don't vary, so the metric is not defined")]
    Constant,
    /// A value is NaN or infinite.
    #[error("a value is not finite")]
    NotFinite,
    /// A negative value where a logarithm is taken.
    #[error("a value is negative, but the metric takes its logarithm")]
    Negative,
    /// A class number that is not below the number of classes.
    #[error("class {class} of {classes}")]
    Class {
        /// The number.
        class: usize,
        /// How many there are.
        classes: usize,
    },
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

fn check_finite(values: &[f64]) -> Result<(), MetricError> {
    if values.iter().all(|value| value.is_finite()) {
        Ok(())
    } else {
        Err(MetricError::NotFinite)
    }
}

/// Mean over columns of a metric of one column: each of `truth` and `predicted` holds one slice per column.
pub fn mean_over_columns<T, P>(
    truth: &[T],
    predicted: &[P],
    metric: impl Fn(&T, &P) -> Result<f64, MetricError>,
) -> Result<f64, MetricError> {
    check_lengths(truth.len(), predicted.len())?;
    let scores = truth
        .iter()
        .zip(predicted)
        .map(|(truth, predicted)| metric(truth, predicted))
        .collect::<Result<Vec<f64>, _>>()?;
    Ok(sum::mean(&scores))
}

#[cfg(test)]
mod tests;
