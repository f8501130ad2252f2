//! Area under the ROC curve and its relatives.

use journeyman_metrics::{MetricError, roc, sum};

use crate::{
    align::{self, Ids, Side, exact_columns, same_length, sorted},
    frame::{Column, Frame, Value},
    refusal::{Refusal, refuse},
    score::Score,
};

/// Columns of jigsaw-toxic.
const TOXIC: [&str; 6] = [
    "toxic",
    "severe_toxic",
    "obscene",
    "threat",
    "insult",
    "identity_hate",
];
/// Identities of jigsaw-unintended-bias.
const IDENTITIES: [&str; 9] = [
    "male",
    "female",
    "homosexual_gay_or_lesbian",
    "christian",
    "jewish",
    "muslim",
    "black",
    "white",
    "psychiatric_or_mental_illness",
];
/// Columns of ranzcr. Versions of MLE-bench differ in how many they grade: those that the answers have count.
const CATHETERS: [&str; 11] = [
    "ETT - Abnormal",
    "ETT - Borderline",
    "ETT - Normal",
    "NGT - Abnormal",
    "NGT - Borderline",
    "NGT - Incompletely Imaged",
    "NGT - Normal",
    "CVC - Abnormal",
    "CVC - Borderline",
    "CVC - Normal",
    "Swan Ganz Catheter Present",
];

/// AUC of one column of probabilities, values from 0 to 1.
pub(super) fn of_probabilities(
    submission: &Frame,
    answers: &Frame,
    id: &str,
    target: &str,
) -> Result<Score, Refusal> {
    probability_auc(submission, answers, id, target).map(Score::Numpy)
}

fn probability_auc(submission: &Frame, answers: &Frame, id: &str, target: &str) -> Result<f64, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, id, Ids::Equal)?;
    let scores = submission.numbers(target)?;
    if scores.iter().any(|score| *score < 0.0 || *score > 1.0) {
        return refuse(format!(
            "the column `{target}` has values outside 0 to 1; write probabilities"
        ));
    }
    Ok(roc::auc(&binary(&answers.numbers(target)?)?, &scores)?)
}

/// Whether each label is the greater of the two that occur.
fn binary(labels: &[f64]) -> Result<Vec<bool>, MetricError> {
    let (low, high) = labels
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), label| {
            (low.min(*label), high.max(*label))
        });
    if labels.iter().any(|label| *label != low && *label != high) {
        return Err(MetricError::OneClass);
    }
    Ok(labels.iter().map(|label| *label == high && low < high).collect())
}

pub(super) fn ranzcr(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    let columns: Vec<&str> = CATHETERS.into_iter().filter(|name| answers.has(name)).collect();
    mean(
        columns
            .iter()
            .map(|name| probability_auc(submission, answers, "StudyInstanceUID", name)),
    )
}

pub(super) fn plant_pathology(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    let columns = ["healthy", "multiple_diseases", "rust", "scab"];
    same_length(submission, answers)?;
    let names: Vec<&str> = std::iter::once("image_id").chain(columns).collect();
    exact_columns(submission, &names)?;
    let (submission, answers) = sorted(submission, answers, "image_id", Ids::Equal)?;
    mean(columns.iter().map(|name| column_auc(&submission, &answers, name)))
}

pub(super) fn enzymes(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "id", Ids::Equal)?;
    mean(
        ["EC1", "EC2"]
            .iter()
            .map(|name| column_auc(&submission, &answers, name)),
    )
}

fn column_auc(submission: &Side, answers: &Side, name: &str) -> Result<f64, Refusal> {
    Ok(roc::auc(
        &binary(&answers.numbers(name)?)?,
        &submission.numbers(name)?,
    )?)
}

fn mean(scores: impl Iterator<Item = Result<f64, Refusal>>) -> Result<Score, Refusal> {
    Ok(Score::Numpy(sum::mean(&scores.collect::<Result<Vec<_>, _>>()?)))
}

/// Mean AUC of the columns in the order of the SUBMISSION against those in the order of the answers; rows whose labels
/// sum below 0 don't count.
pub(super) fn jigsaw_toxic(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    if let Some(name) = TOXIC.iter().find(|name| !submission.has(name)) {
        return Err(align::missing_column("submission", name));
    }
    same_length(submission, answers)?;
    let mut truth = Side::new("answers", answers).sorted_by("id")?;
    let mut scores = Side::new("submission", submission).sorted_by("id")?;

    let mut sums = vec![0.0; answers.rows];
    for name in TOXIC {
        let column = truth.column(name)?.floats().unwrap_or_default();
        for (sum, value) in sums.iter_mut().zip(column) {
            *sum += value;
        }
    }
    // The rows to keep are looked up by id: each id of the submission must be in the answers.
    let (ids, true_ids) = (scores.column("id")?, truth.column("id")?);
    let keep_by_id: std::collections::HashMap<_, _> = true_ids
        .values()
        .zip(&sums)
        .filter_map(|(id, sum)| Some((align::key(id)?, *sum >= 0.0)))
        .collect();
    let keep = ids
        .values()
        .map(|id| keep_by_id.get(&align::key(id)?).copied())
        .collect::<Option<Vec<bool>>>()
        .ok_or_else(|| align::wrong_ids("id"))?;
    scores.filter(|row| keep[row]);
    truth.filter(|row| sums[row] >= 0.0);

    let without_id =
        |frame: &Frame| -> Vec<String> { frame.names.iter().filter(|name| *name != "id").cloned().collect() };
    let (columns, true_columns) = (without_id(submission), without_id(answers));
    if columns.len() > true_columns.len() {
        return refuse("there are extra columns; write id and the six labels");
    }
    mean(columns.iter().zip(&true_columns).map(|(name, true_name)| {
        Ok(roc::auc(
            &binary(&truth.numbers(true_name)?)?,
            &scores.numbers(name)?,
        )?)
    }))
}

/// A quarter of the overall AUC and of three power means (p = −5) of AUCs over identities; PREDICTIONS are cut into 0
/// and 1 at 0.5 before, as the labels are.
pub(super) fn jigsaw_bias(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    const POWER: i32 = -5;
    const WEIGHT: f64 = 0.25;
    let target = if submission.has("prediction") {
        "prediction"
    } else {
        "toxicity"
    };
    let (submission, answers) = sorted(submission, answers, "id", Ids::Equal)?;
    let cut = |values: Vec<f64>| -> Vec<bool> { values.into_iter().map(|value| value >= 0.5).collect() };
    let predicted = cut(submission.numbers(target)?);
    let toxic = cut(answers.numbers("toxicity")?);
    let auc = |keep: &dyn Fn(usize) -> bool| -> Result<f64, Refusal> {
        let rows: Vec<usize> = (0..toxic.len()).filter(|&row| keep(row)).collect();
        let truth: Vec<bool> = rows.iter().map(|&row| toxic[row]).collect();
        let scores: Vec<f64> = rows
            .iter()
            .map(|&row| f64::from(u8::from(predicted[row])))
            .collect();
        Ok(roc::auc(&truth, &scores)?)
    };
    let overall = auc(&|_| true)?;
    let mut means = [0.0; 3];
    for name in IDENTITIES {
        let mentioned = cut(answers.numbers(name)?);
        let scores = [
            auc(&|row| mentioned[row])?,
            auc(&|row| toxic[row] != mentioned[row])?,
            auc(&|row| toxic[row] == mentioned[row])?,
        ];
        for (mean, score) in means.iter_mut().zip(scores) {
            *mean += score.powi(POWER);
        }
    }
    let bias: f64 = means
        .iter()
        .map(|total| WEIGHT * (total / IDENTITIES.len() as f64).powf(1.0 / f64::from(POWER)))
        .sum();
    Ok(Score::Numpy(WEIGHT * overall + bias))
}

/// Area under the ROC curve in two horizontal slabs, the lower one (true positive rate up to 0.4) counting twice.
pub(super) fn alaska(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    const SLABS: [(f64, f64, f64); 2] = [(0.0, 0.4, 2.0), (0.4, 1.0, 1.0)];
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "Id", Ids::Equal)?;
    let scores = float_column(&submission, "Label")?;
    let truth: Vec<bool> = answers
        .numbers("Label")?
        .iter()
        .map(|label| *label == 1.0)
        .collect();
    let mut curve = roc::curve(&truth, &scores)?;
    for level in [0.0, 0.4, 1.0] {
        insert_level(&mut curve, level);
    }
    let mut score = 0.0;
    for (low, high, weight) in SLABS {
        let mut slab: Vec<[f64; 2]> = curve
            .iter()
            .filter(|[_, y]| low <= *y && *y <= high)
            .map(|[x, y]| [*x, y - low])
            .collect();
        slab.push([1.0, high - low]);
        score += roc::area(&slab) * weight;
    }
    let whole: f64 = SLABS
        .iter()
        .map(|(low, high, weight)| (high - low) * weight)
        .sum();
    Ok(Score::Numpy(score / whole))
}

/// Numbers also from texts that are numbers.
fn float_column(side: &Side, name: &str) -> Result<Vec<f64>, Refusal> {
    if !matches!(side.column(name)?, Column::Objects(_)) {
        return side.numbers(name);
    }
    side.values(name)?
        .map(|value| match value {
            Value::Text(text) => text.trim().parse().ok(),
            _ => None,
        })
        .collect::<Option<Vec<f64>>>()
        .map_or_else(|| side.numbers(name), Ok)
}

/// Puts a point with the true positive rate `level` on the curve, unless there is one.
fn insert_level(curve: &mut Vec<[f64; 2]>, level: f64) {
    if curve.iter().any(|[_, y]| *y == level) {
        return;
    }
    if let Some(place) = curve.iter().position(|[_, y]| *y > level) {
        // The curve starts at (0, 0), which is not above any level.
        let ([x0, y0], [x1, y1]) = (curve[place - 1], curve[place]);
        curve.insert(place, [x0 + (x1 - x0) * (level - y0) / (y1 - y0), level]);
    }
}
