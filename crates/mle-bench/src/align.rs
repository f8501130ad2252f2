//! Brings the rows of a submission and of the answers together, the ways in which MLE-bench's graders do.

use std::{cmp::Ordering, collections::HashSet};

use crate::{
    frame::{Column, Frame, Value},
    python,
    refusal::{Refusal, refuse},
};

/// One of the two files, with its rows in some order.
pub(crate) struct Side<'a> {
    who: &'static str,
    pub(crate) frame: &'a Frame,
    pub(crate) rows: Vec<usize>,
}

/// How a grader compares ids.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ids {
    /// Sorted on both sides, they are equal one by one.
    Equal,
    /// As sets they are equal; how often each occurs is not compared.
    SameSet,
    /// Only used to sort.
    Ignored,
}

/// Both sides sorted by the column `id`.
pub(crate) fn sorted<'a>(
    submission: &'a Frame,
    answers: &'a Frame,
    id: &str,
    ids: Ids,
) -> Result<(Side<'a>, Side<'a>), Refusal> {
    let submission = Side::new("submission", submission).sorted_by(id)?;
    let answers = Side::new("answers", answers).sorted_by(id)?;
    let (a, b) = (submission.column(id)?, answers.column(id)?);
    let same = match ids {
        Ids::Ignored => true,
        Ids::SameSet => same_sets(a, b),
        Ids::Equal => {
            let mut pairs = submission.rows.iter().zip(&answers.rows);
            submission.rows.len() == answers.rows.len()
                && match (a, b) {
                    (Column::Integers(a), Column::Integers(b)) => pairs.all(|(&i, &j)| a[i] == b[j]),
                    _ => pairs.all(|(&i, &j)| equal(a.value(i), b.value(j))),
                }
        }
    };
    if !same {
        return Err(wrong_ids(id));
    }
    Ok((submission, answers))
}

/// Both sides in the order of their files.
pub(crate) fn by_position<'a>(submission: &'a Frame, answers: &'a Frame) -> (Side<'a>, Side<'a>) {
    (Side::new("submission", submission), Side::new("answers", answers))
}

/// Refuses a submission with another number of rows than the answers.
pub(crate) fn same_length(submission: &Frame, answers: &Frame) -> Result<(), Refusal> {
    if submission.rows == answers.rows {
        return Ok(());
    }
    refuse(format!(
        "it has {} rows, but needs {}; write one row per test row",
        submission.rows, answers.rows
    ))
}

/// Refuses a submission whose columns are not `names`, in any order.
pub(crate) fn exact_columns(submission: &Frame, names: &[&str]) -> Result<(), Refusal> {
    if let Some(name) = names.iter().find(|name| !submission.has(name)) {
        return Err(missing_column("submission", name));
    }
    match submission
        .names
        .iter()
        .find(|name| !names.contains(&name.as_str()))
    {
        Some(extra) => refuse(format!(
            "there is an extra column `{extra}`; the columns must be {}",
            names.join(", ")
        )),
        None => Ok(()),
    }
}

pub(crate) fn missing_column(who: &str, name: &str) -> Refusal {
    if who == "submission" {
        Refusal::new(format!(
            "the column `{name}` is missing; write the columns of the sample submission"
        ))
    } else {
        Refusal::new(format!(
            "the {who} have no column `{name}`; they are not of this competition"
        ))
    }
}

pub(crate) fn wrong_ids(id: &str) -> Refusal {
    Refusal::new(format!(
        "the values of the column `{id}` are not those of the test set; copy that column from the sample submission"
    ))
}

impl<'a> Side<'a> {
    pub(crate) fn new(who: &'static str, frame: &'a Frame) -> Self {
        Self {
            who,
            frame,
            rows: (0..frame.rows).collect(),
        }
    }

    pub(crate) fn column(&self, name: &str) -> Result<&'a Column, Refusal> {
        self.frame
            .column(name)
            .ok_or_else(|| missing_column(self.who, name))
    }

    /// Rows in the order of a column, missing values last, equal ones in the order of the file.
    pub(crate) fn sorted_by(mut self, name: &str) -> Result<Self, Refusal> {
        let column = self.column(name)?;
        if let Column::Integers(values) = column {
            if !values.is_sorted() {
                self.rows.sort_by_key(|&row| values[row]);
            }
            return Ok(self);
        }
        let (mut rows, missing): (Vec<usize>, Vec<usize>) = self
            .rows
            .iter()
            .partition(|&&row| !column.value(row).is_missing());
        let mut comparable = true;
        rows.sort_by(|&a, &b| {
            column.value(a).compare(&column.value(b)).unwrap_or_else(|| {
                comparable = false;
                Ordering::Equal
            })
        });
        if !comparable {
            return refuse(format!(
                "the column `{name}` of the {} mixes numbers and texts, which have no order",
                self.who
            ));
        }
        rows.extend(missing);
        self.rows = rows;
        Ok(self)
    }

    /// Keeps rows for which `keep` holds.
    pub(crate) fn filter(&mut self, keep: impl Fn(usize) -> bool) {
        self.rows.retain(|&row| keep(row));
    }

    /// A column's values in the order of the rows.
    pub(crate) fn values(&self, name: &str) -> Result<impl Iterator<Item = Value<'a>>, Refusal> {
        let column = self.column(name)?;
        Ok(self.rows.iter().map(|&row| column.value(row)))
    }

    /// A numeric column in the order of the rows; NaN where a value is missing.
    pub(crate) fn numbers(&self, name: &str) -> Result<Vec<f64>, Refusal> {
        let values = self
            .column(name)?
            .floats()
            .ok_or_else(|| self.not_numbers(name))?;
        if self.rows.len() == values.len() && self.rows.is_sorted() {
            return Ok(values);
        }
        Ok(self.rows.iter().map(|&row| values[row]).collect())
    }

    /// A column as Python's `str` writes each value.
    pub(crate) fn strings(&self, name: &str) -> Result<Vec<String>, Refusal> {
        Ok(self.values(name)?.map(|value| value.text()).collect())
    }

    /// A column of texts, missing ones empty; numbers are refused.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<&'a str>, Refusal> {
        self.values(name)?
            .map(|value| match value {
                Value::Text(text) => Ok(text),
                value if value.is_missing() => Ok(""),
                _ => refuse(format!("the column `{name}` of the {} must hold texts", self.who)),
            })
            .collect()
    }

    /// A column through Python's `int`: floats are cut, texts must be whole numbers.
    pub(crate) fn ints(&self, name: &str) -> Result<Vec<i128>, Refusal> {
        self.values(name)?
            .map(|value| {
                int(value).ok_or_else(|| {
                    Refusal::new(format!(
                        "the column `{name}` of the {} has `{}`; write a whole number in every row",
                        self.who,
                        shown(&value.text())
                    ))
                })
            })
            .collect()
    }

    fn not_numbers(&self, name: &str) -> Refusal {
        let culprit = self
            .frame
            .column(name)
            .into_iter()
            .flat_map(Column::values)
            .find_map(|value| match value {
                Value::Text(text) if text.trim().parse::<f64>().map_or(true, f64::is_infinite) => Some(text),
                _ => None,
            });
        Refusal::new(match culprit {
            Some(text) => format!(
                "the column `{name}` of the {} has `{}`, which is not a number; write numbers like 0.25, without \
                 thousands separators",
                self.who,
                shown(text)
            ),
            None => format!("the column `{name}` of the {} is not numeric", self.who),
        })
    }
}

/// Python's `int`.
pub(crate) fn int(value: Value) -> Option<i128> {
    match value {
        Value::Integer(value) => Some(i128::from(value)),
        Value::Unsigned(value) => Some(i128::from(value)),
        Value::Boolean(value) => Some(i128::from(value)),
        Value::Float(value) if value.is_finite() => Some(value as i128),
        Value::Text(text) => python::int(text),
        Value::Float(_) | Value::Missing => None,
    }
}

/// The start of a value, safe to print.
pub(crate) fn shown(text: &str) -> String {
    text.chars()
        .take(40)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

pub(crate) fn equal(a: Value, b: Value) -> bool {
    a.compare(&b) == Some(Ordering::Equal)
}

/// Equality of two columns as Python sets: a missing text equals itself, NaN among floats does not.
pub(crate) fn same_sets(a: &Column, b: &Column) -> bool {
    match (key_set(a), key_set(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// A value by which sets compare.
#[derive(PartialEq, Eq, Hash)]
pub(crate) enum Key<'a> {
    Integer(i128),
    /// A float that is no integer, by its bits.
    Float(u64),
    Text(&'a str),
    Missing,
}

/// `None` for NaN of a float column, which equals nothing.
pub(crate) fn key(value: Value) -> Option<Key> {
    Some(match value {
        Value::Text(text) => Key::Text(text),
        Value::Boolean(value) => Key::Integer(i128::from(value)),
        Value::Integer(value) => Key::Integer(i128::from(value)),
        Value::Unsigned(value) => Key::Integer(i128::from(value)),
        Value::Float(value) if value.is_nan() => return None,
        Value::Float(value) if value.fract() == 0.0 => Key::Integer(value as i128),
        Value::Float(value) => Key::Float(value.to_bits()),
        Value::Missing => Key::Missing,
    })
}

pub(crate) fn key_set(column: &Column) -> Option<HashSet<Key<'_>>> {
    column.values().map(key).collect()
}
