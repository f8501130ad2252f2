//! Reading a submission strictly: each problem is a sentence that tells what to change.
//!
//! What is wrong is found from public facts alone (header, ids, form of the values), so that no message depends on a
//! label or on the hidden halves.

mod file;
mod ids;
mod patience;
mod records;

use std::borrow::Cow;

pub use file::{check_size, read_file};
pub use ids::Ids;
pub use patience::{Patience, too_slow};
use records::{Field, LONGEST, Records, Unclosed, line_of};

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
    /// The time for one submission has passed.
    TooSlow,
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
            InvalidKind::TooSlow => "too_slow",
        }
    }
}

/// A submission with the right form, its rows put in the order of the ids.
#[derive(Clone, Debug)]
pub struct Submission<'a> {
    text: &'a str,
    /// Target columns, at least one.
    width: usize,
    /// `[rows, width]` row by row, in the order of the ids.
    fields: Vec<Field>,
    /// Where the row of each id starts.
    starts: Vec<u32>,
    patience: Patience,
}

/// The columns `names` of a CSV file with a header, in which other columns may be: fields as text, trimmed, in the order
/// of the file. The error says what is wrong.
pub(crate) fn columns<'a>(bytes: &'a [u8], names: &[&str]) -> Result<Vec<Vec<Cow<'a, str>>>, String> {
    let text = decode(bytes).map_err(|invalid| invalid.message)?;
    let unclosed = |unclosed| never_closed(text, unclosed).message;
    let (mut records, mut fields) = (Records::new(text, COLUMNS_LIMIT), Vec::new());
    let width = records
        .next(&mut fields)
        .map_err(unclosed)?
        .map_or(0, |header| header.fields);
    let places = names
        .iter()
        .map(|name| {
            let place = fields.iter().position(|field| field.text(text) == *name);
            place.ok_or_else(|| format!("has no column `{name}`"))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let mut columns = vec![Vec::new(); names.len()];
    while let Some(record) = records.next(&mut fields).map_err(unclosed)? {
        if record.fields != width {
            return Err(wrong_fields(line_of(text, record.start), record.fields, width).message);
        }
        for (column, &place) in columns.iter_mut().zip(&places) {
            column.push(fields[place].text(text));
        }
    }
    Ok(columns)
}

/// In `starts`: the id has no row yet. No row starts here, since texts are shorter.
const UNSEEN: u32 = u32::MAX;

impl<'a> Submission<'a> {
    /// Reads a submission with the columns `id_column` and `targets`, in any order, and exactly the rows `ids`, in any
    /// order. Nothing is copied: fields are places in `bytes`.
    pub fn read(bytes: &'a [u8], id_column: &str, targets: &[String], ids: &Ids) -> Result<Self, Invalid> {
        Self::read_within(bytes, id_column, targets, ids, Patience::ENDLESS)
    }

    /// [`Submission::read`], given up when `patience` ends; so are the columns that are read from it later.
    pub fn read_within(
        bytes: &'a [u8],
        id_column: &str,
        targets: &[String],
        ids: &Ids,
        patience: Patience,
    ) -> Result<Self, Invalid> {
        let text = decode(bytes)?;
        patience.check()?;
        let width = targets.len();
        let columns_limit = COLUMNS_LIMIT.max(2 * (width + 1));
        let mut records = Records::new(text, columns_limit);
        let unclosed = |unclosed| never_closed(text, unclosed);
        let mut fields = Vec::new();
        let columns = records
            .next(&mut fields)
            .map_err(unclosed)?
            .map_or(0, |header| header.fields);
        let header = fields.iter().map(|field| field.text(text)).collect::<Vec<_>>();
        let places = find_columns(&header, columns, id_column, targets)?;

        let mut submission = Self {
            text,
            width,
            fields: vec![Field::EMPTY; ids.len() * width],
            starts: vec![UNSEEN; ids.len()],
            patience,
        };
        let mut count = 0usize;
        let mut next_row = 0usize;
        let mut id_problem: Option<Invalid> = None;
        while let Some(record) = records.next(&mut fields).map_err(unclosed)? {
            let start = record.start;
            if record.fields != columns {
                return Err(wrong_fields(line_of(text, start), record.fields, columns));
            }
            patience.check_row(count)?;
            count += 1;
            let id = fields[places[0]];
            // Most files have the rows in the order of test.csv.
            let in_order = id.plain(text).is_some_and(|id| ids.is_named(next_row, id));
            let row = if in_order {
                Some(next_row)
            } else {
                ids.row(&id.text(text))
            };
            next_row = row.map_or(next_row, |row| row + 1);
            match row.map(|row| (row, submission.starts[row])) {
                Some((row, UNSEEN)) => {
                    // It fits: texts are at most LONGEST bytes long.
                    submission.starts[row] = start as u32;
                    for (field, &place) in submission.fields[row * width..].iter_mut().zip(&places[1..]) {
                        *field = fields[place];
                    }
                }
                Some((row, _)) => keep_first(&mut id_problem, || {
                    format!(
                        "the id `{}` is on line {} and again on line {}; write each id once",
                        shown(&id.text(text)),
                        submission.line(row),
                        line_of(text, start)
                    )
                }),
                None => keep_first(&mut id_problem, || {
                    format!(
                        "line {} has the id `{}`, which is not in test.csv; copy the column `{id_column}` of test.csv",
                        line_of(text, start),
                        shown(&id.text(text))
                    )
                }),
            }
        }
        if count != ids.len() {
            return Err(wrong_rows(count, ids.len()));
        }
        if let Some(problem) = id_problem {
            return Err(problem);
        }
        // As many rows as ids, none unknown and none twice: each id has its row.
        Ok(submission)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len()
    }

    /// Line of the file, from 1, on which the row of id `row` starts.
    pub fn line(&self, row: usize) -> usize {
        line_of(self.text, self.starts[row] as usize)
    }

    /// The fields of the target column `column` as text, trimmed, in the order of the ids.
    pub fn texts(&self, column: usize) -> impl Iterator<Item = Cow<'a, str>> + '_ {
        let rows = self.fields.chunks_exact(self.width);
        rows.map(move |row| row[column].text(self.text))
    }

    /// The numbers of the target column `column`, named `name`, each finite and within `allowed` (both ends in).
    pub fn numbers(&self, column: usize, name: &str, allowed: (f64, f64)) -> Result<Vec<f64>, Invalid> {
        let mut numbers = Vec::with_capacity(self.rows());
        for (row, text) in self.texts(column).enumerate() {
            self.patience.check_row(row)?;
            match text.parse::<f64>() {
                Ok(number) if number >= allowed.0 && number <= allowed.1 && number.is_finite() => {
                    numbers.push(number);
                }
                parsed => {
                    let what = not_a_number(&text, parsed.ok(), allowed);
                    return Err(self.fault(row, name, &text, &what));
                }
            }
        }
        Ok(numbers)
    }

    /// The labels of the target column `column`, named `name`, as numbers into `classes`.
    ///
    /// `1`, `1.0` and `1e0` are the same label; so are `True`, `TRUE` and `true`.
    pub fn labels(&self, column: usize, name: &str, classes: &[String]) -> Result<Vec<usize>, Invalid> {
        let mut labels = Vec::with_capacity(self.rows());
        for (row, text) in self.texts(column).enumerate() {
            self.patience.check_row(row)?;
            let label =
                label_index(&text, classes).ok_or_else(|| self.unknown_label(row, name, &text, classes))?;
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
        let mut guesses = Vec::with_capacity(self.rows());
        for (row, text) in self.texts(column).enumerate() {
            self.patience.check_row(row)?;
            let count = text.split_whitespace().count();
            if !(1..=most).contains(&count) {
                let message = format!(
                    "line {}, column `{name}`: there are {count} labels; write one to {most}, the likeliest first, with \
                     blanks between them",
                    self.line(row)
                );
                return Err(Invalid::new(InvalidKind::Values, message));
            }
            let labels = text.split_whitespace().map(|label| {
                label_index(label, classes).ok_or_else(|| self.unknown_label(row, name, label, classes))
            });
            guesses.push(labels.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(guesses)
    }

    fn unknown_label(&self, row: usize, name: &str, text: &str, classes: &[String]) -> Invalid {
        let known: Vec<String> = classes
            .iter()
            .take(12)
            .map(|class| format!("`{class}`"))
            .collect();
        let more = if classes.len() > 12 { " …" } else { "" };
        let what = format!("is not one of the labels {}{more}", known.join(", "));
        self.fault(row, name, text, &what)
    }

    fn fault(&self, row: usize, name: &str, text: &str, what: &str) -> Invalid {
        Invalid::new(
            InvalidKind::Values,
            format!(
                "line {}, column `{name}`: `{}` {what}",
                self.line(row),
                shown(text)
            ),
        )
    }
}

/// What is wrong with a text that is no number within `allowed`; `parsed` is the number that it is, if it is one.
fn not_a_number(text: &str, parsed: Option<f64>, allowed: (f64, f64)) -> String {
    if is_absent(text) {
        return "is a missing value; write a number in every row".to_owned();
    }
    match parsed {
        None if text.contains(',') => {
            "is not a number; write it with a decimal point and without thousands separators".to_owned()
        }
        None => "is not a number; write it like `0.25`".to_owned(),
        Some(number) if !number.is_finite() => {
            "is not a finite number; clip or replace such values".to_owned()
        }
        Some(_) if allowed == (0.0, 1.0) => {
            "is out of range; the values are probabilities from 0 to 1".to_owned()
        }
        Some(number) if number < allowed.0 => {
            format!(
                "is out of range; the values are numbers from {} on",
                short(allowed.0)
            )
        }
        Some(_) => format!(
            "is out of range; the values are numbers up to {}",
            short(allowed.1)
        ),
    }
}

fn short(number: f64) -> String {
    if number.abs() < 1e6 {
        number.to_string()
    } else {
        format!("{number:e}")
    }
}

fn wrong_fields(line: usize, fields: usize, columns: usize) -> Invalid {
    Invalid::new(
        InvalidKind::Fields,
        format!(
            "line {line} has {fields} fields, but the header has {columns}; write one value per column, without thousands \
             separators or unquoted commas"
        ),
    )
}

fn wrong_rows(rows: usize, needed: usize) -> Invalid {
    Invalid::new(
        InvalidKind::Rows,
        format!("it has {rows} rows, but needs {needed}, one for each row of test.csv"),
    )
}

fn never_closed(text: &str, Unclosed(at): Unclosed) -> Invalid {
    Invalid::new(
        InvalidKind::NotCsv,
        format!(
            "the quote `\"` that is opened on line {} is never closed; write it twice inside a quoted value",
            line_of(text, at)
        ),
    )
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
    check_size(bytes.len() as u64, LONGEST as u64)?;
    if [
        &b"\x1f\x8b"[..],
        b"PK\x03\x04",
        b"\xfd7zXZ\0",
        b"\x28\xb5\x2f\xfd",
    ]
    .iter()
    .any(|start| bytes.starts_with(start))
    {
        return Err(not_csv(
            "the file is compressed; write plain text, without `compression` and with the ending .csv"
                .to_owned(),
        ));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(not_csv("the file is UTF-16; write it as UTF-8".to_owned()));
    }
    if let Some(at) = memchr::memchr(0, bytes) {
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
    if memchr::memchr(b'"', bytes).is_some() {
        let (mut records, mut fields) = (Records::new(text, 0), Vec::new());
        while records
            .next(&mut fields)
            .map_err(|unclosed| never_closed(text, unclosed))?
            .is_some()
        {}
    }
    Ok(text)
}

/// Places of the id column and of each target column in the header. `columns` is how many the file has, `header` those
/// that were kept.
fn find_columns(
    header: &[Cow<'_, str>],
    columns: usize,
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
    if columns > header.len() {
        return Err(fault(format!("the header has {columns} columns")));
    }
    let mut places = Vec::with_capacity(wanted.len());
    for name in &wanted {
        let mut found = header
            .iter()
            .enumerate()
            .filter(|(_, column)| *column == *name)
            .map(|(place, _)| place);
        match (found.next(), found.next()) {
            (Some(place), None) => places.push(place),
            (Some(_), Some(_)) => return Err(fault(format!("the column `{name}` is there twice"))),
            (None, _) => return Err(fault(format!("the column `{name}` is missing"))),
        }
    }
    if let Some(extra) = header.iter().find(|column| !wanted.contains(&column.as_ref())) {
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
