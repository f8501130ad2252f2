//! Several labels per row: sets of tags, and ranked guesses.

use std::collections::HashSet;

use journeyman_metrics::{label, ranking};

use crate::{
    align::{self, Ids, Side, exact_columns, key, key_set, same_length, sorted},
    frame::Frame,
    python,
    refusal::{Refusal, refuse},
    score::Score,
};

/// Micro F1 of tags; predicted tags that no answer has don't count.
pub(super) fn tags(submission: &Frame, answers: &Frame, id: &str, target: &str) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, id, Ids::Equal)?;
    let words = |side: &Side<'_>| -> Result<Vec<Vec<String>>, Refusal> {
        Ok(side
            .texts(target)?
            .iter()
            .map(|text| python::split(text).map(str::to_owned).collect())
            .collect())
    };
    let truth = words(&answers)?;
    let known: HashSet<&String> = truth.iter().flatten().collect();
    let mut predicted = words(&submission)?;
    for tags in &mut predicted {
        tags.retain(|tag| known.contains(tag));
    }
    Ok(Score::Numpy(label::f1_micro(&truth, &predicted)?))
}

pub(super) fn hotels(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "image", Ids::SameSet)?;
    map_at_k(&submission, &answers, "hotel_id", 5)
}

pub(super) fn whales(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    exact_columns(submission, &["Image", "Id"])?;
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "Image", Ids::SameSet)?;
    map_at_k(&submission, &answers, "Id", 5)
}

/// Customers that the answers lack are ignored.
pub(super) fn fashion(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    let id = "customer_id";
    exact_columns(submission, &[id, "prediction"])?;
    let mut submission = Side::new("submission", submission).sorted_by(id)?;
    let answers = Side::new("answers", answers).sorted_by(id)?;
    let column = submission.column(id)?;
    let (Some(given), Some(known)) = (key_set(column), key_set(answers.column(id)?)) else {
        return Err(align::wrong_ids(id));
    };
    if !given.is_superset(&known) {
        return Err(align::wrong_ids(id));
    }
    submission.filter(|row| key(column.value(row)).is_some_and(|key| known.contains(&key)));
    if submission.rows.len() != answers.rows.len() {
        return refuse("a customer_id occurs more than once; write each once");
    }
    map_at_k(&submission, &answers, "prediction", 12)
}

/// Guesses are what lies between single blanks.
fn map_at_k(submission: &Side, answers: &Side, target: &str, k: usize) -> Result<Score, Refusal> {
    let lists = |side: &Side| -> Result<Vec<Vec<String>>, Refusal> {
        Ok(side
            .strings(target)?
            .iter()
            .map(|text| text.split(' ').map(str::to_owned).collect())
            .collect())
    };
    let mut truth = lists(answers)?;
    for right in &mut truth {
        right.sort_unstable();
        right.dedup();
    }
    Ok(Score::Numpy(ranking::map_at_k(&truth, &lists(submission)?, k)?))
}
