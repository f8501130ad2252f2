//! Tables as pandas 2.2 holds them: named columns of one type each.

pub(crate) mod infer;
pub mod read;

use std::cmp::Ordering;

use crate::python;

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Names of the columns, made distinct as pandas does.
    pub names: Vec<String>,
    /// One per name, all of the same length.
    pub columns: Vec<Column>,
    /// Number of rows.
    pub rows: usize,
    /// Whether rows were longer than the header, so that pandas took the first fields for row labels.
    pub has_row_labels: bool,
}

/// The values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// int64.
    Integers(Vec<i64>),
    /// uint64, when a value is above the range of int64.
    Unsigned(Vec<u64>),
    /// float64; a missing value is NaN.
    Floats(Vec<f64>),
    /// bool.
    Booleans(Vec<bool>),
    /// Texts, or values of several types.
    Objects(Objects),
}

/// Values of an object column; texts lie end to end in one string.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objects {
    text: String,
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell {
    /// Bytes of the text.
    Text {
        start: u32,
        len: u32,
    },
    Boolean(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    Missing,
}

/// One value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A text.
    Text(&'a str),
    /// True or False.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// An integer above the range of int64.
    Unsigned(u64),
    /// A float; NaN is a missing value of a float column.
    Float(f64),
    /// NaN in an object column.
    Missing,
}

impl Frame {
    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        let place = self.names.iter().position(|other| other == name)?;
        Some(&self.columns[place])
    }

    /// Whether there is a column of that name.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|other| other == name)
    }

    /// The same columns with the rows `rows`, in that order.
    pub fn take(&self, rows: &[usize]) -> Frame {
        Frame {
            names: self.names.clone(),
            columns: self.columns.iter().map(|column| column.take(rows)).collect(),
            rows: rows.len(),
            has_row_labels: self.has_row_labels,
        }
    }

    /// The columns `names`, which must exist, in that order.
    pub fn select(&self, names: &[String]) -> Option<Frame> {
        let columns = names
            .iter()
            .map(|name| self.column(name).cloned())
            .collect::<Option<Vec<_>>>()?;
        Some(Frame {
            names: names.to_vec(),
            columns,
            rows: self.rows,
            has_row_labels: self.has_row_labels,
        })
    }
}

impl Column {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Column::Integers(values) => values.len(),
            Column::Unsigned(values) => values.len(),
            Column::Floats(values) => values.len(),
            Column::Booleans(values) => values.len(),
            Column::Objects(values) => values.cells.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value in row `row`.
    pub fn value(&self, row: usize) -> Value<'_> {
        match self {
            Column::Integers(values) => Value::Integer(values[row]),
            Column::Unsigned(values) => Value::Unsigned(values[row]),
            Column::Floats(values) => Value::Float(values[row]),
            Column::Booleans(values) => Value::Boolean(values[row]),
            Column::Objects(values) => values.value(row),
        }
    }

    /// All values in order.
    pub fn values(&self) -> impl Iterator<Item = Value<'_>> {
        (0..self.len()).map(|row| self.value(row))
    }

    /// The values as floats, if the column is numeric or boolean.
    pub fn floats(&self) -> Option<Vec<f64>> {
        match self {
            Column::Integers(values) => Some(values.iter().map(|value| *value as f64).collect()),
            Column::Unsigned(values) => Some(values.iter().map(|value| *value as f64).collect()),
            Column::Floats(values) => Some(values.clone()),
            Column::Booleans(values) => {
                Some(values.iter().map(|value| f64::from(u8::from(*value))).collect())
            }
            Column::Objects(_) => None,
        }
    }

    /// The values of `rows`, in that order.
    pub fn take(&self, rows: &[usize]) -> Column {
        fn pick<T: Copy>(values: &[T], rows: &[usize]) -> Vec<T> {
            rows.iter().map(|&row| values[row]).collect()
        }
        match self {
            Column::Integers(values) => Column::Integers(pick(values, rows)),
            Column::Unsigned(values) => Column::Unsigned(pick(values, rows)),
            Column::Floats(values) => Column::Floats(pick(values, rows)),
            Column::Booleans(values) => Column::Booleans(pick(values, rows)),
            Column::Objects(values) => Column::Objects(Objects {
                text: values.text.clone(),
                cells: pick(&values.cells, rows),
            }),
        }
    }

    /// This column with another below it, in the type that pandas gives the two.
    pub(crate) fn append(self, below: Column) -> Column {
        match (self, below) {
            (Column::Integers(mut a), Column::Integers(b)) => {
                a.extend(b);
                Column::Integers(a)
            }
            (Column::Unsigned(mut a), Column::Unsigned(b)) => {
                a.extend(b);
                Column::Unsigned(a)
            }
            (Column::Booleans(mut a), Column::Booleans(b)) => {
                a.extend(b);
                Column::Booleans(a)
            }
            (Column::Floats(mut a), Column::Floats(b)) => {
                a.extend(b);
                Column::Floats(a)
            }
            (a, b) if a.is_number() && b.is_number() => {
                // Both have floats: neither is of objects.
                let mut all = a.floats().unwrap_or_default();
                all.extend(b.floats().unwrap_or_default());
                Column::Floats(all)
            }
            (a, b) => {
                let mut all = Objects::default();
                for value in a.values().chain(b.values()) {
                    all.push(value);
                }
                Column::Objects(all)
            }
        }
    }

    fn is_number(&self) -> bool {
        matches!(
            self,
            Column::Integers(_) | Column::Unsigned(_) | Column::Floats(_)
        )
    }
}

impl Objects {
    pub(crate) fn push(&mut self, value: Value) {
        let cell = match value {
            Value::Text(text) => {
                // Files are below 2 GiB, so their texts are too.
                let cell = Cell::Text {
                    start: self.text.len() as u32,
                    len: text.len() as u32,
                };
                self.text.push_str(text);
                cell
            }
            Value::Boolean(value) => Cell::Boolean(value),
            Value::Integer(value) => Cell::Integer(value),
            Value::Unsigned(value) => Cell::Unsigned(value),
            Value::Float(value) => Cell::Float(value),
            Value::Missing => Cell::Missing,
        };
        self.cells.push(cell);
    }

    fn value(&self, row: usize) -> Value<'_> {
        match self.cells[row] {
            Cell::Text { start, len } => Value::Text(&self.text[start as usize..(start + len) as usize]),
            Cell::Boolean(value) => Value::Boolean(value),
            Cell::Integer(value) => Value::Integer(value),
            Cell::Unsigned(value) => Value::Unsigned(value),
            Cell::Float(value) => Value::Float(value),
            Cell::Missing => Value::Missing,
        }
    }
}

impl Value<'_> {
    /// Whether it is NaN.
    pub fn is_missing(&self) -> bool {
        match self {
            Value::Missing => true,
            Value::Float(value) => value.is_nan(),
            _ => false,
        }
    }

    /// The text that Python's `str` gives.
    pub fn text(&self) -> String {
        match self {
            Value::Text(text) => (*text).to_owned(),
            Value::Boolean(true) => "True".to_owned(),
            Value::Boolean(false) => "False".to_owned(),
            Value::Integer(value) => value.to_string(),
            Value::Unsigned(value) => value.to_string(),
            Value::Float(value) => python::repr(*value),
            Value::Missing => "nan".to_owned(),
        }
    }

    /// Order of two values as Python has it; `None` if it compares neither (a text with a number, or NaN).
    pub fn compare(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
            (Value::Text(_), _) | (_, Value::Text(_)) => None,
            (a, b) => match (a.integer(), b.integer()) {
                (Some(a), Some(b)) => Some(a.cmp(&b)),
                _ => a.float()?.partial_cmp(&b.float()?),
            },
        }
    }

    fn integer(&self) -> Option<i128> {
        match self {
            Value::Boolean(value) => Some(i128::from(*value)),
            Value::Integer(value) => Some(i128::from(*value)),
            Value::Unsigned(value) => Some(i128::from(*value)),
            _ => None,
        }
    }

    fn float(&self) -> Option<f64> {
        match self {
            Value::Float(value) => Some(*value),
            Value::Missing | Value::Text(_) => None,
            other => other.integer().map(|value| value as f64),
        }
    }
}
