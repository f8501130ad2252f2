//! What a prompt tells of the data: columns, types, examples and the form of a submission, in few tokens.

use std::collections::BTreeSet;

/// A small CSV table, as text.
pub(crate) struct Table {
    header: Vec<String>,
    columns: Vec<Vec<String>>,
}

impl Table {
    /// Reads a UTF-8 CSV file with a header. The error says what is wrong.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut reader = csv::ReaderBuilder::new().from_reader(bytes);
        let header: Vec<String> = reader
            .headers()
            .map_err(|error| error.to_string())?
            .iter()
            .map(str::to_owned)
            .collect();
        if header.is_empty() {
            return Err("is empty; it needs a header".to_owned());
        }
        let mut columns = vec![Vec::new(); header.len()];
        for record in reader.records() {
            let record = record.map_err(|error| error.to_string())?;
            for (column, value) in columns.iter_mut().zip(&record) {
                column.push(value.to_owned());
            }
        }
        Ok(Self { header, columns })
    }

    /// Names of the columns.
    pub(crate) fn header(&self) -> impl Iterator<Item = &str> {
        self.header.iter().map(String::as_str)
    }

    /// Number of data rows.
    pub(crate) fn rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// The fields of the column `name`.
    pub(crate) fn column(&self, name: &str) -> Option<&[String]> {
        let place = self.header.iter().position(|column| column == name)?;
        Some(&self.columns[place])
    }

    fn line(&self, row: usize) -> String {
        let fields: Vec<&str> = self.columns.iter().map(|column| column[row].as_str()).collect();
        fields.join(",")
    }
}

/// What a column holds, as pandas would read it; of two kinds the later one can hold both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Whole numbers.
    Int,
    /// Numbers.
    Float,
    /// Anything else.
    Text,
}

pub(crate) fn kind(values: &[String]) -> Kind {
    let mut present = values.iter().filter(|value| !value.is_empty()).peekable();
    if present.peek().is_none() {
        return Kind::Text;
    }
    let whole = values.iter().all(|value| value.parse::<i64>().is_ok());
    if whole {
        Kind::Int
    } else if present.all(|value| value.parse::<f64>().is_ok()) {
        Kind::Float
    } else {
        Kind::Text
    }
}

/// Lines about the three public files.
pub(crate) fn describe(train: &Table, test: &Table, sample: &Table) -> String {
    let in_test: BTreeSet<&str> = test.header().collect();
    let missing: Vec<&str> = train.header().filter(|name| !in_test.contains(name)).collect();
    let missing: Vec<String> = runs(&missing)
        .map(|run| match run {
            [name] => format!("`{name}`"),
            run => format!("`{}` to `{}`", run[0], run[run.len() - 1]),
        })
        .collect();
    let without = if missing.is_empty() {
        String::new()
    } else {
        format!(" without {}", missing.join(", "))
    };
    let mut lines = vec![format!(
        "data/train.csv: {} rows. Columns (type, example):",
        train.rows()
    )];
    let names: Vec<&str> = train.header().collect();
    let mut columns = train.columns.as_slice();
    for run in runs(&names) {
        let (values, rest) = columns.split_at(run.len());
        lines.push(column_line(run, values));
        columns = rest;
    }
    lines.push(format!(
        "data/test.csv: {} rows, the same columns{without}.",
        test.rows()
    ));
    lines.push(format!(
        "submission.csv: {} rows like data/sample_submission.csv:",
        sample.rows()
    ));
    lines.push(sample.header.join(","));
    lines.extend((0..sample.rows().min(2)).map(|row| sample.line(row)));
    lines.push("...".to_owned());
    lines.join("\n")
}

/// Columns that differ in their number alone are told in one line if there are at least so many.
const RUN: usize = 4;

/// The names in order: runs of at least [`RUN`] that are numbered one after the other, and the others one by one.
fn runs<'a, 'n>(names: &'a [&'n str]) -> impl Iterator<Item = &'a [&'n str]> {
    let mut rest = names;
    std::iter::from_fn(move || {
        let numbered = rest
            .windows(2)
            .take_while(|pair| is_followed_by(pair[0], pair[1]))
            .count()
            + 1;
        let length = if numbered >= RUN { numbered } else { 1 };
        let (run, others) = rest.split_at_checked(length)?;
        rest = others;
        Some(run)
    })
}

/// Whether `next` is `name` with the next number at its end.
fn is_followed_by(name: &str, next: &str) -> bool {
    match (numbered(name), numbered(next)) {
        (Some((stem, number)), Some((next_stem, next_number))) => {
            stem == next_stem && number.checked_add(1) == Some(next_number)
        }
        _ => false,
    }
}

/// Stem and number of a name like `item_07`.
pub(crate) fn numbered(name: &str) -> Option<(&str, u32)> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name[stem.len()..].parse().ok()?;
    Some((stem, number))
}

/// The line of one column, or of a run of them.
fn column_line(names: &[&str], columns: &[Vec<String>]) -> String {
    let kinds: BTreeSet<Kind> = columns.iter().map(|values| kind(values)).collect();
    let example = columns
        .iter()
        .flatten()
        .find(|value| !value.is_empty())
        .map_or("", String::as_str);
    let gaps = if columns.iter().flatten().any(String::is_empty) {
        ", has gaps"
    } else {
        ""
    };
    let (name, count) = match names {
        [name] => ((*name).to_owned(), String::new()),
        names => (
            format!("{} to {}", names[0], names[names.len() - 1]),
            format!(", {} columns", names.len()),
        ),
    };
    match kinds.last() {
        Some(Kind::Int) => format!("{name} int {example}{gaps}{count}"),
        Some(Kind::Float) => format!("{name} float {example}{gaps}{count}"),
        Some(Kind::Text) | None => {
            let short: String = example.chars().take(60).collect();
            format!("{name} text \"{short}\"{gaps}{count}")
        }
    }
}

#[cfg(test)]
mod tests;
