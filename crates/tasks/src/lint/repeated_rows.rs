//! Test rows whose features a train row has: their labels can be looked up.
//!
//! Numbers are compared as numbers and texts as words in small letters. Rows that differ in a digit are not seen.

use std::collections::HashMap;

use super::{Found, Material};
use crate::snippet::Table;

pub(super) fn check(task: &Material) -> Vec<Found> {
    let features: Vec<&str> = task.features().collect();
    let train: HashMap<String, usize> = keys(&task.train, &features).zip(0..).collect();
    let mut repeated = keys(&task.test, &features)
        .enumerate()
        .filter_map(|(row, key)| train.get(&key).map(|like| (row, *like)));
    let Some((row, like)) = repeated.next() else {
        return Vec::new();
    };
    let count = 1 + repeated.count();
    let id = |table: &Table, row: usize| {
        table
            .column(&task.definition.id_column)
            .map_or_else(|| format!("row {}", row + 1), |ids| format!("id `{}`", ids[row]))
    };
    vec![(
        "test.csv".to_owned(),
        format!(
            "{count} of {} rows have the features of a row of train.csv ({} those of {}); drop repeated rows before the \
             split, or put all rows with the same features into one part",
            task.test.rows(),
            id(&task.test, row),
            id(&task.train, like)
        ),
    )]
}

/// The features of each row as one text.
pub(crate) fn keys<'a>(table: &'a Table, features: &[&str]) -> impl Iterator<Item = String> + use<'a> {
    let columns: Vec<&[String]> = features.iter().filter_map(|name| table.column(name)).collect();
    (0..table.rows()).map(move |row| {
        let fields: Vec<String> = columns.iter().map(|column| plain(&column[row])).collect();
        fields.join("\u{1f}")
    })
}

fn plain(text: &str) -> String {
    if let Ok(number) = text.parse::<f64>() {
        return number.to_string();
    }
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join(" ")
}
