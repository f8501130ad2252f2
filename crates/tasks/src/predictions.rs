//! What a submission predicts, read by public facts alone: the task's definition and the ids of its test rows.
//!
//! Nothing here can see an answer, so neither can a message of [`Predictions::read`] depend on one: it is what the
//! validation endpoint tells.

use crate::{
    definition::{Definition, GUESSES, Metric},
    submission::{Ids, Invalid, InvalidKind, Patience, Submission},
};

/// Largest number, either way, that is scored where the metric sets no bound: its square, added up over all rows, is
/// still a number.
pub(crate) const LARGEST: f64 = 1e100;

/// The values of a well-formed submission, in the order of the ids.
pub(crate) enum Predictions {
    /// Numbers into `definition.classes`.
    Labels(Vec<usize>),
    /// Up to [`GUESSES`] labels per row, best first.
    Guesses(Vec<Vec<usize>>),
    /// One number per row.
    Numbers(Vec<f64>),
    /// Probabilities of the classes that the target columns name, `[rows, classes]` row by row.
    Classes(Vec<f64>),
    /// One vector per target column.
    Columns(Vec<Vec<f64>>),
}

impl Predictions {
    /// Reads a submission, or says what to change in it.
    pub(crate) fn read(
        definition: &Definition,
        ids: &Ids,
        csv: &[u8],
        patience: Patience,
    ) -> Result<Self, Invalid> {
        let Definition {
            metric,
            id_column,
            target_columns: targets,
            classes,
            ..
        } = definition;
        let submission = Submission::read_within(csv, id_column, targets, ids, patience)?;
        let (least, most) = metric.values();
        let allowed = (least.max(-LARGEST), most.min(LARGEST));
        let numbers = |column: usize| submission.numbers(column, &targets[column], allowed);
        let all_columns = || (0..targets.len()).map(numbers).collect::<Result<Vec<_>, _>>();
        let predictions = match metric {
            Metric::MapAt5 => Self::Guesses(submission.guesses(0, &targets[0], classes, GUESSES)?),
            Metric::Accuracy => Self::Labels(submission.labels(0, &targets[0], classes)?),
            Metric::AucMean => Self::Columns(all_columns()?),
            Metric::LogLoss if targets.len() > 1 => {
                Self::Classes(probabilities(&submission, &all_columns()?)?)
            }
            Metric::Pearson => Self::Numbers(varying(numbers(0)?)?),
            Metric::Auc | Metric::LogLoss | Metric::Rmse | Metric::Rmsle | Metric::Mae => {
                Self::Numbers(numbers(0)?)
            }
        };
        patience.check()?;
        Ok(predictions)
    }
}

/// The rows of a multi-class submission, each of which sums to 1 as closely as MLE-bench asks (1.1e-5).
fn probabilities(submission: &Submission<'_>, columns: &[Vec<f64>]) -> Result<Vec<f64>, Invalid> {
    let mut p = Vec::with_capacity(columns.len() * submission.rows());
    for row in 0..submission.rows() {
        let sum: f64 = columns.iter().map(|column| column[row]).sum();
        if (sum - 1.0).abs() > 1e-6 + 1e-5 {
            return Err(Invalid::new(
                InvalidKind::Values,
                format!(
                    "line {}: the probabilities sum to {sum}; divide each row by its sum",
                    submission.line(row)
                ),
            ));
        }
        p.extend(columns.iter().map(|column| column[row]));
    }
    Ok(p)
}

/// Numbers that are not all the same.
fn varying(numbers: Vec<f64>) -> Result<Vec<f64>, Invalid> {
    if numbers.iter().all(|number| *number == numbers[0]) {
        return Err(Invalid::new(
            InvalidKind::Values,
            "all predictions are the same, and a constant has no correlation; write values that vary",
        ));
    }
    Ok(numbers)
}
