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

/// What a column holds, as pandas would read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    let missing: Vec<String> = train
        .header()
        .filter(|name| !in_test.contains(name))
        .map(|name| format!("`{name}`"))
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
    lines.extend(
        train
            .header
            .iter()
            .zip(&train.columns)
            .map(|(name, values)| column_line(name, values)),
    );
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

fn column_line(name: &str, values: &[String]) -> String {
    let kind = kind(values);
    let example = values
        .iter()
        .find(|value| !value.is_empty())
        .map_or("", String::as_str);
    let gaps = if values.iter().any(String::is_empty) {
        ", has gaps"
    } else {
        ""
    };
    match kind {
        Kind::Int => format!("{name} int {example}{gaps}"),
        Kind::Float => format!("{name} float {example}{gaps}"),
        Kind::Text => {
            let short: String = example.chars().take(60).collect();
            format!("{name} text \"{short}\"{gaps}")
        }
    }
}

#[cfg(test)]
mod tests;
