//! Why a submission has no score.

use journeyman_metrics::MetricError;

/// A submission that can't be scored; the sentence tells what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    message: String,
}

impl Refusal {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// Shorthand for graders, in which nearly every step may refuse.
pub(crate) fn refuse<T>(message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(message))
}

impl From<MetricError> for Refusal {
    fn from(error: MetricError) -> Self {
        Refusal::new(match error {
            MetricError::Length { truth, predicted } => {
                format!("it has {predicted} rows to score, but needs {truth}; write one row per test row")
            }
            MetricError::NotFinite => {
                "a prediction is missing or infinite; write a finite number in every row".to_owned()
            }
            MetricError::Negative => {
                "a prediction is negative, but the metric takes logarithms; clip predictions at 0".to_owned()
            }
            other => other.to_string(),
        })
    }
}
