//! Which rows are for training, and which half of the test the others are in.

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
};

use journeyman_schemas::ids::ContentHash;

use super::{NewError, Target, Wish};
use crate::{
    lint,
    recipe::{self, PrepareError},
    snippet::Table,
};

/// Share of the rows that is the test.
const TEST_SHARE: f64 = 0.25;

/// The rows of each file, in an order that tells nothing.
pub(super) struct Split {
    pub(super) train: Vec<usize>,
    pub(super) test: Vec<usize>,
    id_column: String,
    /// The id of each row of the table.
    ids: Vec<String>,
    /// Of the test rows.
    report: HashSet<usize>,
}

impl Split {
    pub(super) fn of(wish: &Wish, table: &Table, target: &Target) -> Result<Self, NewError> {
        let mut order: Vec<usize> = (0..table.rows()).collect();
        order.sort_by_cached_key(|row| key(&wish.id, "order", *row));
        let ids = match wish.id_column.as_deref() {
            Some(name) => own_ids(name, table)?,
            None => {
                let mut ids = vec![String::new(); order.len()];
                for (number, &row) in order.iter().enumerate() {
                    ids[row] = number.to_string();
                }
                ids
            }
        };
        let strata = target.strata(wish, table);
        // Rows with the same features go where the first of them goes.
        let features: Vec<&str> = wish.features(table).collect();
        let mut first_with: BTreeMap<String, usize> = BTreeMap::new();
        let first: Vec<usize> = lint::feature_keys(table, &features)
            .enumerate()
            .map(|(row, features)| *first_with.entry(features).or_insert(row))
            .collect();
        let firsts: Vec<usize> = (0..table.rows()).filter(|&row| first[row] == row).collect();
        let chosen = second_share(&firsts, &strata, TEST_SHARE, |row| key(&wish.id, "test", row));
        let (test, train): (Vec<usize>, Vec<usize>) =
            order.into_iter().partition(|row| chosen.contains(&first[*row]));
        let report = second_share(&test, &strata, 0.5, |row| key(&wish.id, "half", row));
        Ok(Self {
            train,
            test,
            id_column: wish.id_column().to_owned(),
            ids,
            report,
        })
    }

    /// Writes the five files under `prepared`.
    pub(super) fn write(
        &self,
        prepared: &Path,
        table: &Table,
        target: &Target,
        wish: &Wish,
    ) -> Result<(), PrepareError> {
        let features: Vec<&str> = wish.features(table).collect();
        let with_targets: Vec<&str> = features
            .iter()
            .copied()
            .chain(wish.targets.iter().map(String::as_str))
            .collect();
        let fields = |names: &[&str], row: usize| -> Vec<String> {
            names
                .iter()
                .filter_map(|name| table.column(name).map(|column| column[row].clone()))
                .collect()
        };
        let columns = target.columns(wish);
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let sample = target.sample(wish, table, &self.train);
        let half = |row: usize| {
            if self.report.contains(&row) {
                "report"
            } else {
                "reward"
            }
        };
        let file =
            |name: &str, header: &[&str], rows: &[usize], line: &dyn Fn(usize, usize) -> Vec<String>| {
                self.write_file(&prepared.join(name), header, rows, line)
            };
        file("public/train.csv", &with_targets, &self.train, &|_, row| {
            fields(&with_targets, row)
        })?;
        file("public/test.csv", &features, &self.test, &|_, row| {
            fields(&features, row)
        })?;
        file(
            "public/sample_submission.csv",
            &columns,
            &self.test,
            &|place, _| sample(place),
        )?;
        file("private/answers.csv", &columns, &self.test, &|_, row| {
            target.answer(wish, table, row)
        })?;
        file("private/halves.csv", &["half"], &self.test, &|_, row| {
            vec![half(row).to_owned()]
        })
    }

    /// A file with the id and then the fields of each row; `line` takes the place of a row and its number.
    fn write_file(
        &self,
        path: &Path,
        header: &[&str],
        rows: &[usize],
        line: &dyn Fn(usize, usize) -> Vec<String>,
    ) -> Result<(), PrepareError> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let header = std::iter::once(self.id_column.as_str()).chain(header.iter().copied());
        let mut written = writer.write_record(header);
        for (place, &row) in rows.iter().enumerate() {
            written = written.and_then(|()| {
                writer.write_record(std::iter::once(self.ids[row].clone()).chain(line(place, row)))
            });
        }
        // Into memory nothing can fail but a row with too many fields, and all have the header's number.
        let bytes = writer.into_inner().unwrap_or_default();
        debug_assert!(written.is_ok());
        recipe::write(path, &String::from_utf8_lossy(&bytes))
    }
}

fn own_ids(name: &str, table: &Table) -> Result<Vec<String>, NewError> {
    let ids = table.column(name).unwrap_or_default();
    let mut seen = HashSet::new();
    match ids
        .iter()
        .find(|id| id.trim() != *id || id.is_empty() || !seen.insert(*id))
    {
        Some(id) => Err(NewError::Columns(format!(
            "the id column `{name}` has `{id}` twice, or with blanks around it, or empty; each row needs an id of its own"
        ))),
        None => Ok(ids.to_vec()),
    }
}

/// The rows out of `rows` that fall to the second part, which has `share` of every stratum.
fn second_share(
    rows: &[usize],
    strata: &[String],
    share: f64,
    key: impl Fn(usize) -> ContentHash,
) -> HashSet<usize> {
    let mut by_stratum: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for &row in rows {
        by_stratum.entry(&strata[row]).or_default().push(row);
    }
    let mut second = HashSet::new();
    for mut rows in by_stratum.into_values() {
        rows.sort_by_cached_key(|row| key(*row));
        let count = (rows.len() as f64 * share).round() as usize;
        second.extend(&rows[..count.min(rows.len())]);
    }
    second
}

/// What rows are ordered by: nothing but their number and what for.
fn key(task: &journeyman_schemas::ids::TaskId, purpose: &str, row: usize) -> ContentHash {
    ContentHash::of(format!("{task}:{purpose}:{row}").as_bytes())
}
