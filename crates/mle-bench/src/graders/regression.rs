//! Errors and correlations of numbers.

use std::collections::{BTreeMap, HashMap};

use journeyman_metrics::{MetricError, correlation, regression, sum};

use crate::{
    align::{self, Ids, Side, by_position, key, missing_column, same_length, sorted},
    frame::{Column, Frame},
    refusal::{Refusal, refuse},
    score::Score,
};

pub(super) fn documents(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "id", Ids::Equal)?;
    rmse(&submission, &answers, "value")
}

/// Sorted by key, but the keys are not compared.
pub(super) fn taxi(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    let (submission, answers) = sorted(submission, answers, "key", Ids::Ignored)?;
    rmse(&submission, &answers, "fare_amount")
}

pub(super) fn pawpularity(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    let (submission, answers) = sorted(submission, answers, "Id", Ids::Equal)?;
    let values = submission.numbers("Pawpularity")?;
    if !values.iter().all(|value| (1.0..=100.0).contains(value)) {
        return refuse("the column `Pawpularity` has values outside 1 to 100 or missing ones; clip them");
    }
    rmse(&submission, &answers, "Pawpularity")
}

fn rmse(submission: &Side, answers: &Side, target: &str) -> Result<Score, Refusal> {
    let score = regression::rmse(&answers.numbers(target)?, &submission.numbers(target)?)?;
    Ok(Score::Numpy(score))
}

/// Mean of two RMSLEs, by place: ids are not looked at.
pub(super) fn nomad(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = by_position(submission, answers);
    let score = |name: &str| -> Result<f64, Refusal> {
        Ok(regression::rmsle(
            &answers.numbers(name)?,
            &submission.numbers(name)?,
        )?)
    };
    Ok(Score::Numpy(
        (score("formation_energy_ev_natom")? + score("bandgap_energy_ev")?) / 2.0,
    ))
}

/// Mean RMSE of three columns over the rows to keep.
///
/// The mask of rows to keep is looked up by row number in both files, so a submission whose rows are in another order
/// than the answers' is graded on other rows.
pub(super) fn covid(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    const TARGETS: [&str; 3] = ["reactivity", "deg_Mg_pH10", "deg_Mg_50C"];
    same_length(submission, answers)?;
    for name in [
        "id_seqpos",
        "reactivity",
        "deg_Mg_pH10",
        "deg_Mg_50C",
        "deg_pH10",
        "deg_50C",
    ] {
        if !submission.has(name) {
            return Err(missing_column("submission", name));
        }
    }
    if submission.has_row_labels {
        return refuse("rows have more fields than the header; save with index=False");
    }
    let (mut submission, mut answers) = sorted(submission, answers, "id_seqpos", Ids::Equal)?;
    let Column::Booleans(keep) = answers.column("keep")? else {
        return refuse("the column `keep` of the answers is not boolean");
    };
    submission.filter(|row| keep[row]);
    answers.filter(|row| keep[row]);
    let errors = TARGETS
        .iter()
        .map(|name| {
            Ok(regression::rmse(
                &answers.numbers(name)?,
                &submission.numbers(name)?,
            )?)
        })
        .collect::<Result<Vec<f64>, Refusal>>()?;
    Ok(Score::Numpy(sum::mean(&errors)))
}

/// MAE over the rows of the answers with `u_out` 0.
pub(super) fn ventilator(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "id", Ids::Equal)?;
    let scored: Vec<bool> = answers.numbers("u_out")?.iter().map(|out| *out == 0.0).collect();
    // Ids are equal one by one, so the same places are kept on both sides.
    let keep = |values: Vec<f64>| -> Vec<f64> {
        values
            .into_iter()
            .zip(&scored)
            .filter(|(_, scored)| **scored)
            .map(|(value, _)| value)
            .collect()
    };
    let score = regression::mae(
        &keep(answers.numbers("pressure")?),
        &keep(submission.numbers("pressure")?),
    )?;
    Ok(Score::Numpy(score))
}

/// MAE, rounded to a whole number.
pub(super) fn volcanoes(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    let joined = Joined::new(submission, answers, "segment_id", "time_to_eruption")?;
    let truth: Vec<f64> = joined.rows.iter().map(|row| row.truth).collect();
    let predicted: Vec<f64> = joined.rows.iter().map(|row| row.predicted).collect();
    let score = regression::mae(&truth, &predicted)?;
    Ok(Score::Python(score.round_ties_even()))
}

/// Mean over types of coupling of ln(MAE).
pub(super) fn champs(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    let joined = Joined::new(submission, answers, "id", "scalar_coupling_constant")?;
    let types = Side::new("answers", answers).strings("type")?;
    let mut groups: BTreeMap<&str, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for row in &joined.rows {
        let (truth, predicted) = groups.entry(types[row.answer].as_str()).or_default();
        truth.push(row.truth);
        predicted.push(row.predicted);
    }
    let scores = groups
        .values()
        .map(|(truth, predicted)| Ok(regression::mae(truth, predicted)?.ln()))
        .collect::<Result<Vec<f64>, Refusal>>()?;
    Ok(Score::Numpy(sum::mean(&scores)))
}

/// Rows of the answers joined with those of the submission by id; an id that the submission has twice counts twice.
struct Joined {
    rows: Vec<JoinedRow>,
}

struct JoinedRow {
    answer: usize,
    truth: f64,
    predicted: f64,
}

impl Joined {
    fn new(submission: &Frame, answers: &Frame, id: &str, target: &str) -> Result<Self, Refusal> {
        let (submission, answers) = by_position(submission, answers);
        let (ids, true_ids) = (submission.column(id)?, answers.column(id)?);
        let (predicted, truth) = (submission.numbers(target)?, answers.numbers(target)?);
        if !align::same_sets(ids, true_ids) {
            return Err(align::wrong_ids(id));
        }
        let mut places: HashMap<_, Vec<usize>> = HashMap::with_capacity(ids.len());
        for (row, id) in ids.values().enumerate() {
            places.entry(key(id)).or_default().push(row);
        }
        let rows = true_ids
            .values()
            .enumerate()
            .flat_map(|(answer, id)| {
                let same = places.get(&key(id)).map(Vec::as_slice).unwrap_or_default();
                same.iter().map(move |row| (answer, *row))
            })
            .map(|(answer, row)| JoinedRow {
                answer,
                truth: truth[answer],
                predicted: predicted[row],
            })
            .collect();
        Ok(Self { rows })
    }
}

/// Pearson's correlation; NaN for a constant prediction or one with missing or infinite values.
pub(super) fn patents(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "id", Ids::Equal)?;
    let (truth, predicted) = (answers.numbers("score")?, submission.numbers("score")?);
    if truth.len() < 2 {
        return refuse("there are fewer than two rows");
    }
    undefined_is_nan(correlation::pearson(&truth, &predicted)).map(Score::Numpy)
}

/// Mean of Spearman's correlations of 30 columns, sorted by id, but ids are not compared.
pub(super) fn quest(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    if let Some(name) = answers.names.iter().find(|name| !submission.has(name)) {
        return Err(missing_column("submission", name));
    }
    if submission.names.len() != answers.names.len() {
        return refuse("there are extra columns; write qa_id and the 30 targets");
    }
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "qa_id", Ids::Ignored)?;
    let scores = answers
        .frame
        .names
        .iter()
        .filter(|name| *name != "qa_id")
        .map(|name| {
            let (truth, predicted) = (answers.numbers(name)?, ranked(&submission, name)?);
            undefined_is_nan(correlation::spearman(&truth, &predicted))
        })
        .collect::<Result<Vec<f64>, Refusal>>()?;
    Ok(Score::Numpy(sum::mean(&scores)))
}

/// Numbers in the order of a column's values; texts are ordered too.
fn ranked(side: &Side, name: &str) -> Result<Vec<f64>, Refusal> {
    if !matches!(side.column(name)?, Column::Objects(_)) || side.values(name)?.any(|value| value.is_missing())
    {
        return side.numbers(name);
    }
    let texts = side.texts(name)?;
    let mut order = texts.clone();
    order.sort_unstable();
    Ok(texts
        .iter()
        .map(|text| order.partition_point(|other| other < text) as f64)
        .collect())
}

fn undefined_is_nan(score: Result<f64, MetricError>) -> Result<f64, Refusal> {
    match score {
        Err(MetricError::Constant | MetricError::NotFinite) => Ok(f64::NAN),
        other => Ok(other?),
    }
}
