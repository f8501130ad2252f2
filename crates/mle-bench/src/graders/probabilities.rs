//! Losses and rankings of several probabilities per row.

use std::collections::BTreeMap;

use journeyman_metrics::{MetricError, sum};

use crate::{
    align::{Ids, Side, exact_columns, missing_column, same_length, sorted},
    frame::{Frame, Value},
    refusal::{Refusal, refuse},
    score::Score,
};

/// How far from 1 a row may sum (`numpy.isclose` with atol 1e-6 and its rtol 1e-5).
const SUM_TOLERANCE: f64 = 1e-6 + 1e-5;

pub(super) fn dogs(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let classes = others(answers, "id");
    check_rows(submission, &classes, |sum| (sum - 1.0).abs() <= SUM_TOLERANCE)?;
    multi_class(submission, answers, &classes)
}

pub(super) fn leaves(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    let names: Vec<&str> = answers.names.iter().map(String::as_str).collect();
    exact_columns(submission, &names)?;
    dogs(submission, answers)
}

pub(super) fn spooky(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    const CLASSES: usize = 3;
    same_length(submission, answers)?;
    if submission.names.len() != CLASSES + 1 {
        return refuse("it must have four columns: id, EAP, HPL and MWS");
    }
    // By place: the first column is not looked at.
    check_rows(submission, &submission.names[1..], |sum| {
        (sum - 1.0).abs() <= SUM_TOLERANCE
    })?;
    multi_class(submission, answers, &others(answers, "id"))
}

pub(super) fn arena(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    let classes = ["winner_model_a", "winner_model_b", "winner_tie"].map(str::to_owned);
    same_length(submission, answers)?;
    check_rows(submission, &classes, |sum| {
        (sum * 1e6).round_ties_even() / 1e6 == 1.0
    })?;
    multi_class(submission, answers, &classes)
}

fn others(frame: &Frame, id: &str) -> Vec<String> {
    frame.names.iter().filter(|name| *name != id).cloned().collect()
}

/// Checks range and sum of each row.
fn check_rows(submission: &Frame, classes: &[String], sums: impl Fn(f64) -> bool) -> Result<(), Refusal> {
    let side = Side::new("submission", submission);
    let mut totals = vec![0.0; submission.rows];
    for name in classes {
        for (total, p) in totals.iter_mut().zip(side.numbers(name)?) {
            if !(0.0..=1.0).contains(&p) {
                return refuse(format!(
                    "the column `{name}` has the value {p}; write probabilities from 0 to 1"
                ));
            }
            *total += p;
        }
    }
    match totals.iter().position(|total| !sums(*total)) {
        Some(row) => refuse(format!(
            "the probabilities of data row {} sum to {}; divide each row by its sum",
            row + 1,
            totals[row]
        )),
        None => Ok(()),
    }
}

/// Log loss against one-hot answers, clipped to [ε, 1−ε] with ε = 2.2e-16.
fn multi_class(submission: &Frame, answers: &Frame, classes: &[String]) -> Result<Score, Refusal> {
    if let Some(name) = classes.iter().find(|name| !submission.has(name)) {
        return Err(missing_column("submission", name));
    }
    let (submission, answers) = sorted(submission, answers, "id", Ids::Equal)?;
    let columns = |side: &Side| -> Result<Vec<Vec<f64>>, Refusal> {
        classes.iter().map(|name| side.numbers(name)).collect()
    };
    let (truth, p) = (columns(&answers)?, columns(&submission)?);
    let losses: Vec<f64> = (0..answers.rows.len())
        .map(|row| {
            -sum::sum((0..classes.len()).map(|class| {
                let p = p[class][row].clamp(f64::EPSILON, 1.0 - f64::EPSILON);
                match truth[class][row] {
                    0.0 => 0.0,
                    weight => weight * p.ln(),
                }
            }))
        })
        .collect();
    if losses.is_empty() {
        return Err(MetricError::Empty.into());
    }
    Ok(Score::Python(sum::mean(&losses)))
}

pub(super) fn dogs_vs_cats(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    two_class(submission, answers, "label")
}

pub(super) fn icebergs(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    two_class(submission, answers, "is_iceberg")
}

fn two_class(submission: &Frame, answers: &Frame, target: &str) -> Result<Score, Refusal> {
    let (submission, answers) = sorted(submission, answers, "id", Ids::SameSet)?;
    let p = submission.numbers(target)?;
    if !p.iter().all(|p| (0.0..=1.0).contains(p)) {
        return refuse(format!(
            "the column `{target}` has values outside 0 to 1 or missing ones; write probabilities"
        ));
    }
    let truth: Vec<bool> = answers
        .numbers(target)?
        .iter()
        .map(|label| *label != 0.0)
        .collect();
    if truth.iter().all(|label| *label == truth[0]) {
        return Err(MetricError::OneClass.into());
    }
    Ok(Score::Python(journeyman_metrics::log_loss::log_loss(&truth, &p)?))
}

/// Mean over rows of the Kullback-Leibler divergence of the predicted from the true shares of votes.
pub(super) fn brain_activity(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    const VOTES: [&str; 6] = [
        "seizure_vote",
        "lpd_vote",
        "gpd_vote",
        "lrda_vote",
        "grda_vote",
        "other_vote",
    ];
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "eeg_id", Ids::SameSet)?;
    let columns = |side: &Side| -> Result<Vec<Vec<f64>>, Refusal> {
        VOTES.iter().map(|name| side.numbers(name)).collect()
    };
    let (votes, p) = (columns(&answers)?, columns(&submission)?);
    let rows = answers.rows.len();
    // Missing values count nothing in sums, as in pandas.
    let total = |columns: &[Vec<f64>], row: usize| -> f64 {
        columns
            .iter()
            .map(|column| column[row])
            .filter(|value| !value.is_nan())
            .sum()
    };
    let every_column = others(submission.frame, "eeg_id")
        .iter()
        .map(|name| submission.numbers(name))
        .collect::<Result<Vec<_>, _>>()?;
    for row in 0..rows {
        let (asked, all) = (total(&p, row), total(&every_column, row));
        if (asked * 1e5).round_ties_even() / 1e5 != 1.0 || (all - 1.0).abs() > 1e-8 + 1e-5 {
            return refuse(
                "the probabilities of each row must sum to 1, without extra columns; divide each row by its sum",
            );
        }
    }
    if every_column.iter().flatten().any(|p| *p < 0.0 || *p > 1.0) {
        return refuse("the probabilities must lie between 0 and 1");
    }
    let losses: Vec<f64> = (0..rows)
        .map(|row| {
            let sum = total(&votes, row);
            let terms = votes.iter().zip(&p).map(|(votes, p)| {
                let share = votes[row] / sum;
                if share == 0.0 {
                    0.0
                } else {
                    share * (share / p[row].clamp(1e-15, 1.0 - 1e-15)).ln()
                }
            });
            terms.filter(|term| !term.is_nan()).sum()
        })
        .collect();
    Ok(Score::Numpy(sum::mean(&losses)))
}

/// Weighted log loss of eight fractures per study: the overall one counts seven times, positive labels twice.
pub(super) fn fractures(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    const PARTS: [&str; 8] = ["patient_overall", "C1", "C2", "C3", "C4", "C5", "C6", "C7"];
    let target = "fractured";
    let (submission, answers) = sorted(submission, answers, "row_id", Ids::Equal)?;
    let p = submission.numbers(target)?;
    if !p.iter().all(|p| (0.0..=1.0).contains(p)) {
        return refuse(
            "the column `fractured` has values outside 0 to 1 or missing ones; write probabilities",
        );
    }
    let truth = answers.numbers(target)?;
    // Per study, loss and weight of each part; NaN where the part is missing.
    let mut studies: BTreeMap<&str, ([f64; 8], [f64; 8])> = BTreeMap::new();
    let mut seen = [false; 8];
    for (row, id) in answers.values("row_id")?.enumerate() {
        let Value::Text(id) = id else {
            return refuse("the answers have a row_id that is no text");
        };
        let (study, part) = id.split_once('_').unwrap_or((id, ""));
        let Some(place) = PARTS.iter().position(|name| *name == part) else {
            continue;
        };
        seen[place] = true;
        let (losses, weights) = studies.entry(study).or_insert(([f64::NAN; 8], [f64::NAN; 8]));
        let clipped = p[row].clamp(1e-15, 1.0 - 1e-15);
        let label = truth[row];
        let base = if place == 0 { 7.0 } else { 1.0 };
        weights[place] = label * 2.0 * base + (1.0 - label) * base;
        losses[place] = -(label * clipped.ln() + (1.0 - label) * (1.0 - clipped).ln()) * weights[place];
    }
    if seen.contains(&false) {
        return refuse("the ids are not `study_part` with the eight parts patient_overall and C1 to C7");
    }
    let means: Vec<f64> = studies
        .values()
        .map(|(losses, weights)| losses.iter().sum::<f64>() / weights.iter().sum::<f64>())
        .collect();
    Ok(Score::Numpy(sum::mean(&means)))
}

/// Label-weighted label-ranking average precision: for each true label, the share of true ones among the labels that
/// rank at or above it.
pub(super) fn freesound(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    if submission.names != answers.names {
        return refuse("the columns must be fname and the 80 labels, in the order of the sample submission");
    }
    let (submission, answers) = sorted(submission, answers, "fname", Ids::Equal)?;
    let classes = others(answers.frame, "fname");
    let columns = |side: &Side| -> Result<Vec<Vec<f64>>, Refusal> {
        classes.iter().map(|name| side.numbers(name)).collect()
    };
    let (truth, scores) = (columns(&answers)?, columns(&submission)?);
    if scores.iter().flatten().any(|score| !score.is_finite()) {
        return Err(MetricError::NotFinite.into());
    }
    let (mut total, mut weights) = (0.0, 0.0);
    for row in 0..answers.rows.len() {
        let relevant: Vec<f64> = (0..classes.len())
            .filter(|&class| truth[class][row] > 0.0)
            .map(|class| scores[class][row])
            .collect();
        if relevant.is_empty() {
            continue;
        }
        let precision = if relevant.len() == classes.len() {
            1.0
        } else {
            let at_or_above = |score: f64, values: &mut dyn Iterator<Item = f64>| -> f64 {
                values.filter(|other| *other >= score).count() as f64
            };
            let shares: Vec<f64> = relevant
                .iter()
                .map(|&score| {
                    at_or_above(score, &mut relevant.iter().copied())
                        / at_or_above(score, &mut scores.iter().map(|column| column[row]))
                })
                .collect();
            sum::mean(&shares)
        };
        let weight = relevant.len() as f64;
        total += precision * weight;
        weights += weight;
    }
    Ok(Score::Numpy(total / weights))
}
