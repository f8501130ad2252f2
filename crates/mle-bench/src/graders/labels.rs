//! Agreement of labels.

use std::collections::HashSet;

use journeyman_metrics::{MetricError, label};

use crate::{
    align::same_length,
    align::{Ids, Side, shown, sorted},
    frame::{Column, Frame, Value},
    refusal::{Refusal, refuse},
    score::Score,
};

/// Labels as scikit-learn takes them: whole numbers or texts, not both.
enum Labels<'a> {
    Numbers(Vec<i128>),
    Texts(Vec<&'a str>),
}

impl<'a> Labels<'a> {
    fn read(side: &Side<'a>, name: &str) -> Result<Self, Refusal> {
        if let Column::Integers(_) | Column::Unsigned(_) | Column::Booleans(_) = side.column(name)? {
            return side.ints(name).map(Labels::Numbers);
        }
        if let Column::Floats(_) = side.column(name)? {
            return side
                .numbers(name)?
                .into_iter()
                .map(|value| {
                    if value.fract() == 0.0 && value.abs() < 2f64.powi(63) {
                        Ok(value as i128)
                    } else {
                        refuse(format!(
                            "the column `{name}` has the value {value}; write a label, a whole number, in every row"
                        ))
                    }
                })
                .collect::<Result<_, _>>()
                .map(Labels::Numbers);
        }
        side.values(name)?
            .map(|value| match value {
                Value::Text(text) => Ok(text),
                other => refuse(format!(
                    "the column `{name}` has `{}` among texts; write a label in every row",
                    shown(&other.text())
                )),
            })
            .collect::<Result<_, _>>()
            .map(Labels::Texts)
    }

    /// Applies a metric to labels of the same kind.
    fn compare(
        truth: &Self,
        predicted: &Self,
        numbers: fn(&[i128], &[i128]) -> Result<f64, MetricError>,
        texts: fn(&[&'a str], &[&'a str]) -> Result<f64, MetricError>,
    ) -> Result<f64, Refusal> {
        match (truth, predicted) {
            (Labels::Numbers(truth), Labels::Numbers(predicted)) => Ok(numbers(truth, predicted)?),
            (Labels::Texts(truth), Labels::Texts(predicted)) => Ok(texts(truth, predicted)?),
            _ => refuse(
                "the labels are texts on one side and numbers on the other; write them as in the training set",
            ),
        }
    }

    /// Share of equal labels. Texts never equal numbers, but scikit-learn refuses to compare them only if there are at
    /// most two different labels on either side.
    fn accuracy(truth: &Self, predicted: &Self) -> Result<f64, Refusal> {
        let mixed = matches!(
            (truth, predicted),
            (Labels::Numbers(_), Labels::Texts(_)) | (Labels::Texts(_), Labels::Numbers(_))
        );
        if mixed && (truth.distinct() > 2 || predicted.distinct() > 2) {
            return Ok(0.0);
        }
        Self::compare(truth, predicted, label::accuracy, label::accuracy)
    }

    fn distinct(&self) -> usize {
        match self {
            Labels::Numbers(labels) => labels.iter().collect::<HashSet<_>>().len(),
            Labels::Texts(labels) => labels.iter().collect::<HashSet<_>>().len(),
        }
    }
}

pub(super) fn accuracy(
    submission: &Frame,
    answers: &Frame,
    id: &str,
    target: &str,
) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, id, Ids::Equal)?;
    let (truth, predicted) = (
        Labels::read(&answers, target)?,
        Labels::read(&submission, target)?,
    );
    Labels::accuracy(&truth, &predicted).map(Score::Python)
}

/// Accuracy of whatever the values look like as texts.
pub(super) fn accuracy_of_strings(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "id", Ids::Equal)?;
    let accuracy = label::accuracy(&answers.strings("after")?, &submission.strings("after")?)?;
    Ok(Score::Python(accuracy))
}

/// Accuracy; a missing label is the empty text.
pub(super) fn paddy(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "image_id", Ids::Equal)?;
    Labels::accuracy(
        &texts_or_numbers(&answers, "label")?,
        &texts_or_numbers(&submission, "label")?,
    )
    .map(Score::Python)
}

fn texts_or_numbers<'a>(side: &Side<'a>, name: &str) -> Result<Labels<'a>, Refusal> {
    match side.texts(name) {
        Ok(texts) => Ok(Labels::Texts(texts)),
        Err(_) => side.ints(name).map(Labels::Numbers),
    }
}

/// Micro F1 of single labels, which is accuracy. A missing label among texts is the text `nan`.
pub(super) fn seedlings(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "file", Ids::Equal)?;
    let score = match (submission.column("species")?, answers.column("species")?) {
        (Column::Objects(_), Column::Objects(_)) => {
            label::accuracy(&answers.strings("species")?, &submission.strings("species")?)?
        }
        _ => Labels::compare(
            &Labels::read(&answers, "species")?,
            &Labels::read(&submission, "species")?,
            label::accuracy,
            label::accuracy,
        )?,
    };
    Ok(Score::Numpy(score))
}

/// 1 − accuracy of the first of several guesses.
pub(super) fn inaturalist(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "id", Ids::Equal)?;
    let truth = answers.ints("predicted")?;
    let guesses = match submission.column("predicted")? {
        Column::Objects(_) => submission
            .values("predicted")?
            .map(|value| match value {
                Value::Text(text) => crate::python::split(text).next().and_then(crate::python::int),
                _ => None,
            })
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| {
                Refusal::new("the column `predicted` must start with a whole number in every row")
            })?,
        Column::Floats(_) => return refuse("the column `predicted` has fractions or missing values"),
        _ => submission.ints("predicted")?,
    };
    Ok(Score::Python(1.0 - label::accuracy(&truth, &guesses)?))
}

pub(super) fn f1_macro(
    submission: &Frame,
    answers: &Frame,
    id: &str,
    target: &str,
) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, id, Ids::Equal)?;
    let score = label::f1_macro(&answers.ints(target)?, &submission.ints(target)?)?;
    Ok(Score::Numpy(score))
}

pub(super) fn aptos(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    let (submission, answers) = sorted(submission, answers, "id_code", Ids::SameSet)?;
    kappa(&submission, &answers, "diagnosis")
}

pub(super) fn essays(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    let (submission, answers) = sorted(submission, answers, "essay_id", Ids::Equal)?;
    kappa(&submission, &answers, "score")
}

/// NaN if both sides have the same single label.
fn kappa(submission: &Side, answers: &Side, target: &str) -> Result<Score, Refusal> {
    let (truth, predicted) = (Labels::read(answers, target)?, Labels::read(submission, target)?);
    if let (Labels::Numbers(truth), Labels::Numbers(predicted)) = (&truth, &predicted)
        && truth.len() == predicted.len()
        && truth.iter().chain(predicted).all(|label| *label == truth[0])
    {
        return Ok(Score::Numpy(f64::NAN));
    }
    // The grader hands the prediction over first.
    Labels::compare(
        &predicted,
        &truth,
        label::quadratic_weighted_kappa,
        label::quadratic_weighted_kappa,
    )
    .map(Score::Numpy)
}

pub(super) fn contacts(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "contact_id", Ids::SameSet)?;
    let (truth, predicted) = (
        Labels::read(&answers, "contact")?,
        Labels::read(&submission, "contact")?,
    );
    Labels::compare(
        &truth,
        &predicted,
        label::matthews_correlation,
        label::matthews_correlation,
    )
    .map(|score| {
        if score == 0.0 {
            Score::Python(score)
        } else {
            Score::Numpy(score)
        }
    })
}

/// F1 with probabilities in place of labels, clipped to 0 to 1.
pub(super) fn breast_cancer(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "prediction_id", Ids::Equal)?;
    let (truth, predicted) = (answers.numbers("cancer")?, submission.numbers("cancer")?);
    let (mut positives, mut found, mut wrong) = (0u32, 0.0, 0.0);
    for (label, p) in truth.iter().zip(&predicted) {
        // Python's min(max(p, 0), 1) keeps NaN.
        let p = if p.is_nan() { *p } else { p.clamp(0.0, 1.0) };
        if *label != 0.0 {
            positives += 1;
            found += p;
        } else {
            wrong += p;
        }
    }
    if positives == 0 {
        return refuse("the answers have no positive row");
    }
    let (precision, recall) = (found / (found + wrong), found / f64::from(positives));
    if precision > 0.0 && recall > 0.0 {
        Ok(Score::Numpy(2.0 * (precision * recall) / (precision + recall)))
    } else {
        Ok(Score::Python(0.0))
    }
}
