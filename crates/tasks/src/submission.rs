//! Reading a submission strictly: each problem is a sentence that tells what to change.
//!
//! What is wrong is found from public facts alone (header, ids, form of the values), so that no message depends on a
//! label or on the hidden halves.

use std::collections::HashMap;

/// Largest number of columns that is read at all.
const COLUMNS_LIMIT: usize = 2_000;
/// Characters of a value that a message repeats.
const QUOTED_CHARS: usize = 40;

/// Why a submission is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Invalid {
    /// Which kind of problem; the first that is found, in the order of [`InvalidKind`].
    pub kind: InvalidKind,
    /// For people: what is wrong, where, and what to change.
    pub message: String,
}

impl Invalid {
    pub(crate) fn new(kind: InvalidKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}

/// The kinds of problem, in the order in which they are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InvalidKind {
    /// There is no file.
    Missing,
    /// The file is larger than the limit.
    TooLarge,
    /// The file has no content.
    Empty,
    /// Compressed, binary, not UTF-8, or quotes not closed.
    NotCsv,
    /// Columns are missing, extra, doubled or misspelt.
    Columns,
    /// A row has more or fewer fields than the header.
    Fields,
    /// A header without rows, or too few or too many rows.
    Rows,
    /// An id occurs twice, is unknown or is missing.
    Ids,
    /// A value is absent, not a number, not finite, out of range, or not one of the labels.
    Values,
}

impl InvalidKind {
    /// The word in metric labels and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            InvalidKind::Missing => "missing",
            InvalidKind::TooLarge => "too_large",
            InvalidKind::Empty => "empty",
            InvalidKind::NotCsv => "not_csv",
            InvalidKind::Columns => "columns",
            InvalidKind::Fields => "fields",
            InvalidKind::Rows => "rows",
            InvalidKind::Ids => "ids",
            InvalidKind::Values => "values",
        }
    }
}

/// The ids that a submission must have, each once.
#[derive(Clone, Debug)]
pub struct Ids {
    names: Vec<String>,
    rows: HashMap<String, usize>,
}

impl Ids {
    /// The ids in order; the error is the first that occurs twice.
    pub fn new(names: Vec<String>) -> Result<Self, String> {
        let mut rows = HashMap::with_capacity(names.len());
        for (row, name) in names.iter().enumerate() {
            if rows.insert(name.clone(), row).is_some() {
                return Err(name.clone());
            }
        }
        Ok(Self { names, rows })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The row of an id.
    pub fn row(&self, id: &str) -> Option<usize> {
        self.rows.get(id).copied()
    }
}

/// A submission with the right form, its rows put in the order of the ids.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// One per target column, in the task's order: the fields as text, trimmed, in the order of the ids.
    pub columns: Vec<Vec<String>>,
    /// Line of the file, from 1, on which the row of each id starts.
    pub lines: Vec<u64>,
}

impl Submission {
    /// Reads a submission with the columns `id_column` and `targets`, in any order, and exactly the rows `ids`, in any
    /// order.
    pub fn read(bytes: &[u8], id_column: &str, targets: &[String], ids: &Ids) -> Result<Self, Invalid> {
        let text = decode(bytes)?;
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let header = reader.headers().map_err(unreadable)?.clone();
        let places = find_columns(&header, id_column, targets)?;

        let mut columns = vec![vec![String::new(); ids.len()]; targets.len()];
        let mut lines = vec![0u64; ids.len()];
        let mut count = 0usize;
        let mut id_problem: Option<Invalid> = None;
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(unreadable)? {
            let line = record.position().map_or(0, csv::Position::line);
            if record.len() != header.len() {
                return Err(Invalid::new(
                    InvalidKind::Fields,
                    format!(
                        "line {line} has {} fields, but the header has {}; write one value per column, without thousands \
                         separators or unquoted commas",
                        record.len(),
                        header.len()
                    ),
                ));
            }
            count += 1;
            let id = &record[places[0]];
            match ids.row(id) {
                None => keep_first(&mut id_problem, || {
                    format!(
                        "line {line} has the id `{}`, which is not in test.csv; copy the column `{id_column}` of test.csv",
                        shown(id)
                    )
                }),
                Some(row) if lines[row] != 0 => keep_first(&mut id_problem, || {
                    format!(
                        "the id `{}` is on line {} and again on line {line}; write each id once",
                        shown(id),
                        lines[row]
                    )
                }),
                Some(row) => {
                    lines[row] = line;
                    for (column, place) in columns.iter_mut().zip(&places[1..]) {
                        column[row] = record[*place].to_owned();
                    }
                }
            }
        }
        if count != ids.len() {
            return Err(Invalid::new(
                InvalidKind::Rows,
                format!(
                    "it has {count} rows, but needs {}, one for each row of test.csv",
                    ids.len()
                ),
            ));
        }
        if let Some(problem) = id_problem {
            return Err(problem);
        }
        // As many rows as ids, none unknown and none twice: each id has its row.
        Ok(Self { columns, lines })
    }

    /// The numbers of the target column `column`, named `name`, each finite and within `allowed` (both ends in).
    pub fn numbers(&self, column: usize, name: &str, allowed: (f64, f64)) -> Result<Vec<f64>, Invalid> {
        let mut numbers = Vec::with_capacity(self.lines.len());
        for (text, line) in self.columns[column].iter().zip(&self.lines) {
            let fault = |what: &str| {
                let message = format!("line {line}, column `{name}`: `{}` {what}", shown(text));
                Invalid::new(InvalidKind::Values, message)
            };
            if is_absent(text) {
                return Err(fault("is a missing value; write a number in every row"));
            }
            let number: f64 = text
                .parse()
                .map_err(|_| fault("is not a number; write it like `0.25`"))?;
            if !number.is_finite() {
                return Err(fault("is not a finite number; clip or replace such values"));
            }
            if number < allowed.0 || number > allowed.1 {
                let wanted = if allowed.1.is_finite() {
                    format!("probabilities from {} to {}", allowed.0, allowed.1)
                } else {
                    format!("numbers from {} on", allowed.0)
                };
                return Err(fault(&format!("is out of range; the values are {wanted}")));
            }
            numbers.push(number);
        }
        Ok(numbers)
    }

    /// The labels of the target column `column`, named `name`, as numbers into `classes`.
    ///
    /// `1`, `1.0` and `1e0` are the same label; so are `True`, `TRUE` and `true`.
    pub fn labels(&self, column: usize, name: &str, classes: &[String]) -> Result<Vec<usize>, Invalid> {
        let mut labels = Vec::with_capacity(self.lines.len());
        for (text, line) in self.columns[column].iter().zip(&self.lines) {
            let label =
                label_index(text, classes).ok_or_else(|| unknown_label(*line, name, text, classes))?;
            labels.push(label);
        }
        Ok(labels)
    }

    /// The guesses of the target column `column`, named `name`: one to `most` labels per row, with blanks between them,
    /// as numbers into `classes`, best first.
    pub fn guesses(
        &self,
        column: usize,
        name: &str,
        classes: &[String],
        most: usize,
    ) -> Result<Vec<Vec<usize>>, Invalid> {
        let mut guesses = Vec::with_capacity(self.lines.len());
        for (text, line) in self.columns[column].iter().zip(&self.lines) {
            let row = text
                .split_whitespace()
                .map(|label| {
                    label_index(label, classes).ok_or_else(|| unknown_label(*line, name, label, classes))
                })
                .collect::<Result<Vec<_>, _>>()?;
            if row.is_empty() || row.len() > most {
                let message = format!(
                    "line {line}, column `{name}`: there are {} labels; write one to {most}, the likeliest first, with \
                     blanks between them",
                    row.len()
                );
                return Err(Invalid::new(InvalidKind::Values, message));
            }
            guesses.push(row);
        }
        Ok(guesses)
    }
}

fn unknown_label(line: u64, name: &str, text: &str, classes: &[String]) -> Invalid {
    let known: Vec<String> = classes
        .iter()
        .take(12)
        .map(|class| format!("`{class}`"))
        .collect();
    let more = if classes.len() > 12 { " …" } else { "" };
    let message = format!(
        "line {line}, column `{name}`: `{}` is not one of the labels {}{more}",
        shown(text),
        known.join(", ")
    );
    Invalid::new(InvalidKind::Values, message)
}

/// Number of the class that `text` means.
pub(crate) fn label_index(text: &str, classes: &[String]) -> Option<usize> {
    if let Some(index) = classes.iter().position(|class| class == text) {
        return Some(index);
    }
    if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
        return classes.iter().position(|class| class.eq_ignore_ascii_case(text));
    }
    let number: f64 = text.parse().ok().filter(|number: &f64| number.is_finite())?;
    classes
        .iter()
        .position(|class| class.parse::<f64>().is_ok_and(|class| class == number))
}

fn decode(bytes: &[u8]) -> Result<&str, Invalid> {
    let not_csv = |message: String| Invalid::new(InvalidKind::NotCsv, message);
    if bytes.is_empty() {
        return Err(Invalid::new(
            InvalidKind::Empty,
            "the file is empty; write a header and one row per row of test.csv",
        ));
    }
    if bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(b"PK\x03\x04") {
        return Err(not_csv("the file is compressed; write plain text".to_owned()));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(not_csv("the file is UTF-16; write it as UTF-8".to_owned()));
    }
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return Err(not_csv(format!("byte {at} is NUL; write plain text")));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        not_csv(format!(
            "byte {} is not UTF-8; write the file with encoding=\"utf-8\"",
            error.valid_up_to()
        ))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(Invalid::new(
            InvalidKind::Empty,
            "the file holds only blanks; write a header and one row per row of test.csv",
        ));
    }
    if text.bytes().filter(|&byte| byte == b'"').count() % 2 != 0 {
        return Err(not_csv(
            "a quote `\"` is opened and never closed; write it twice inside a quoted value".to_owned(),
        ));
    }
    Ok(text)
}

/// Places of the id column and of each target column in the header.
fn find_columns(
    header: &csv::StringRecord,
    id_column: &str,
    targets: &[String],
) -> Result<Vec<usize>, Invalid> {
    let wanted: Vec<&str> = std::iter::once(id_column)
        .chain(targets.iter().map(String::as_str))
        .collect();
    let fault = |what: String| {
        let mut names: Vec<String> = wanted.iter().take(8).map(|name| format!("`{name}`")).collect();
        if wanted.len() > 8 {
            names.push(format!("… ({} in all, see sample_submission.csv)", wanted.len()));
        }
        Invalid::new(
            InvalidKind::Columns,
            format!("{what}; the columns must be {}", names.join(", ")),
        )
    };
    if header.len() > COLUMNS_LIMIT.max(2 * wanted.len()) {
        return Err(fault(format!("the header has {} columns", header.len())));
    }
    let mut places = Vec::with_capacity(wanted.len());
    for name in &wanted {
        let mut found = header
            .iter()
            .enumerate()
            .filter(|(_, column)| column == name)
            .map(|(place, _)| place);
        match (found.next(), found.next()) {
            (Some(place), None) => places.push(place),
            (Some(_), Some(_)) => return Err(fault(format!("the column `{name}` is there twice"))),
            (None, _) => return Err(fault(format!("the column `{name}` is missing"))),
        }
    }
    if let Some(extra) = header.iter().find(|column| !wanted.contains(column)) {
        let what = if extra.is_empty() || extra.starts_with("Unnamed") {
            "there is a column without a name (an index: save with index=False)".to_owned()
        } else {
            format!("there is an extra column `{}`", shown(extra))
        };
        return Err(fault(what));
    }
    Ok(places)
}

fn keep_first(problem: &mut Option<Invalid>, message: impl FnOnce() -> String) {
    if problem.is_none() {
        *problem = Some(Invalid::new(InvalidKind::Ids, message()));
    }
}

fn unreadable(error: csv::Error) -> Invalid {
    Invalid::new(InvalidKind::NotCsv, format!("it can't be read as CSV: {error}"))
}

fn is_absent(text: &str) -> bool {
    text.is_empty()
        || ["na", "n/a", "nan", "-nan", "none", "null", "<na>"].contains(&text.to_ascii_lowercase().as_str())
}

/// The start of a value, safe to print.
fn shown(text: &str) -> String {
    let mut short: String = text
        .chars()
        .take(QUOTED_CHARS)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(QUOTED_CHARS).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests;
