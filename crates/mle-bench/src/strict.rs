//! The strict mode: before a grader sees a submission, its rows are matched with the answers' by id.
//!
//! Graders differ in what they check; some take a part of the rows, or rows in any order under wrong ids. Here each
//! row of the answers must have exactly one row of the submission, and the grader gets them in the answers' order,
//! with columns in the answers' order too, so that no grader can go by place.

use std::collections::{HashMap, VecDeque};

use crate::{
    align::{key, missing_column, shown},
    competition::Competition,
    frame::{Column, Frame},
    refusal::{Refusal, refuse},
};

/// The submission with rows and columns in the order of the answers.
pub fn align(submission: &Frame, answers: &Frame, competition: &Competition) -> Result<Frame, Refusal> {
    let columns = |who: &str, frame: &'_ Frame| -> Result<Vec<usize>, Refusal> {
        competition
            .id_columns
            .iter()
            .map(|name| {
                frame
                    .names
                    .iter()
                    .position(|other| other == name)
                    .ok_or_else(|| missing_column(who, name))
            })
            .collect()
    };
    let (given, known) = (columns("submission", submission)?, columns("answers", answers)?);
    if submission.has_row_labels {
        return refuse("rows have more fields than the header; save with index=False");
    }
    let name = |frame: &Frame, places: &[usize], row: usize| -> String {
        let texts = places.iter().map(|&place| frame.columns[place].value(row).text());
        shown(&texts.collect::<Vec<_>>().join(", "))
    };

    let mut rows_by_id: HashMap<_, VecDeque<usize>> = HashMap::with_capacity(submission.rows);
    for row in 0..submission.rows {
        let id = given
            .iter()
            .map(|&place| key(submission.columns[place].value(row)))
            .collect::<Option<Vec<_>>>();
        let Some(id) = id else {
            return refuse(format!(
                "data row {} has no id; copy the ids from the sample submission",
                row + 1
            ));
        };
        rows_by_id.entry(id).or_default().push_back(row);
    }
    let mut rows = Vec::with_capacity(answers.rows);
    for row in 0..answers.rows {
        let id = known
            .iter()
            .map(|&place| key(answers.columns[place].value(row)))
            .collect::<Option<Vec<_>>>();
        match id
            .and_then(|id| rows_by_id.get_mut(&id))
            .and_then(VecDeque::pop_front)
        {
            Some(row) => rows.push(row),
            None => {
                return refuse(format!(
                    "there is no row for the id `{}`; write one row for each row of the test set",
                    name(answers, &known, row)
                ));
            }
        }
    }
    if !competition.allows_extra_rows
        && let Some(row) = rows_by_id.values().flatten().min()
    {
        return refuse(format!(
            "data row {} has the id `{}`, which is unknown or was there before; write each id of the test set once",
            row + 1,
            name(submission, &given, *row)
        ));
    }
    let in_order = ordered_columns(submission, answers);
    let aligned = in_order.take(&rows);
    Ok(aligned)
}

/// Columns that the answers have first, in their order.
fn ordered_columns(submission: &Frame, answers: &Frame) -> Frame {
    let mut places: Vec<usize> = (0..submission.names.len()).collect();
    let place_in_answers = |name: &String| answers.names.iter().position(|other| other == name);
    places.sort_by_key(|&place| place_in_answers(&submission.names[place]).unwrap_or(usize::MAX));
    Frame {
        names: places
            .iter()
            .map(|&place| submission.names[place].clone())
            .collect(),
        columns: places
            .iter()
            .map(|&place| submission.columns[place].clone())
            .collect::<Vec<Column>>(),
        rows: submission.rows,
        has_row_labels: submission.has_row_labels,
    }
}

#[cfg(test)]
mod tests;
