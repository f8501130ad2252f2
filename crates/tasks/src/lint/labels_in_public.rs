//! Labels of test rows, or hashes of them, in files that programs may read.
//!
//! Knows MD5, SHA-1 and SHA-256 of the label, also joined with the row's id; copies of the labels as a column or as
//! pairs of id and label. It can't see into binary files.

use std::collections::{BTreeSet, HashSet};

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::{Found, Material};
use crate::snippet::Table;

/// Share of test rows whose labels a file must give.
const NEARLY_ALL: f64 = 0.95;
/// Files that have rules of their own.
const KNOWN: [&str; 3] = ["train.csv", "test.csv", "sample_submission.csv"];
/// What can stand between id and label under a hash.
const JOINTS: [&str; 6] = ["", ":", "_", "-", ",", " "];

pub(super) fn check(task: &Material) -> Vec<Found> {
    let hashes = Hashes::of(task);
    let mut found: Vec<Found> = hashes
        .columns(task)
        .into_iter()
        .map(|name| {
            (
                format!("test.csv, column `{name}`"),
                "its values are hashes of the rows' labels; drop the column".to_owned(),
            )
        })
        .collect();
    for (name, bytes) in &task.public {
        if KNOWN.contains(&name.as_str()) {
            continue;
        }
        let text = String::from_utf8_lossy(bytes);
        if let Some(how) = copy_of_labels(task, &text) {
            found.push((name.clone(), format!("{how}; remove the file")));
        } else if words(&text).any(|word| hashes.has(word)) {
            let change = "it holds hashes of labels of test rows; remove them";
            found.push((name.clone(), change.to_owned()));
        }
    }
    found
}

/// Columns of test that are hashes of labels.
pub(super) fn leaking_columns(task: &Material) -> BTreeSet<String> {
    Hashes::of(task).columns(task)
}

/// The hashes of every test row's labels, in hex.
struct Hashes {
    rows: Vec<HashSet<String>>,
}

impl Hashes {
    fn of(task: &Material) -> Self {
        // Only where a field could be one at all: a hash takes a while.
        let any = task
            .public
            .iter()
            .any(|(name, bytes)| name != "train.csv" && words(&String::from_utf8_lossy(bytes)).any(is_hash));
        let Some(ids) = task.test.column(&task.definition.id_column).filter(|_| any) else {
            return Self { rows: Vec::new() };
        };
        let rows = ids.iter().enumerate().map(|(row, id)| {
            let labels = task.labels.iter().map(|label| label.test[row].as_str());
            labels.flat_map(|label| hashes(id, label)).collect()
        });
        Self { rows: rows.collect() }
    }

    fn has(&self, word: &str) -> bool {
        let word = word.to_ascii_lowercase();
        is_hash(&word) && self.rows.iter().any(|hashes| hashes.contains(&word))
    }

    fn columns(&self, task: &Material) -> BTreeSet<String> {
        let tells = |name: &&str| {
            let column = task.test.column(name).unwrap_or_default();
            let told = column
                .iter()
                .zip(&self.rows)
                .filter(|(field, hashes)| hashes.contains(&field.to_ascii_lowercase()))
                .count();
            told > 0 && told as f64 >= NEARLY_ALL * column.len() as f64
        };
        task.test.header().filter(tells).map(str::to_owned).collect()
    }
}

fn hashes(id: &str, label: &str) -> Vec<String> {
    // 1 and 1.0 are the same label, but not under a hash.
    let mut forms = vec![label.to_owned()];
    if let Ok(number) = label.parse::<f64>() {
        forms.extend([number.to_string(), format!("{number:?}")]);
    }
    let mut texts = forms.clone();
    for (form, joint) in forms.iter().flat_map(|form| JOINTS.map(|joint| (form, joint))) {
        texts.extend([format!("{id}{joint}{form}"), format!("{form}{joint}{id}")]);
    }
    texts
        .iter()
        .flat_map(|text| {
            [
                hex(&Md5::digest(text)),
                hex(&Sha1::digest(text)),
                hex(&Sha256::digest(text)),
            ]
        })
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a word has the form of a hash in hex.
fn is_hash(word: &str) -> bool {
    [32, 40, 64].contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// How a file gives the labels of the test rows, if it does: as a column, or as pairs of id and label.
fn copy_of_labels(task: &Material, text: &str) -> Option<String> {
    let ids = task.test.column(&task.definition.id_column)?;
    for label in &task.labels {
        // Labels that are all the same are everywhere.
        if label.test.iter().collect::<BTreeSet<_>>().len() < 2 {
            continue;
        }
        let enough = |count: usize| count as f64 >= NEARLY_ALL * ids.len() as f64;
        if let Some(table) = Table::read(text.as_bytes())
            .ok()
            .filter(|table| table.rows() == ids.len())
            && let Some(name) = table.header().find(|name| {
                let column = table.column(name).unwrap_or_default();
                enough(column.iter().zip(&label.test).filter(|(a, b)| a == b).count())
            })
        {
            return Some(format!(
                "its column `{name}` holds the labels `{}` of test.csv",
                label.name
            ));
        }
        let neighbours: Vec<&str> = words(text).collect();
        let pairs: HashSet<(&str, &str)> = neighbours.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let told = ids
            .iter()
            .zip(&label.test)
            .filter(|(id, label)| pairs.contains(&(id.as_str(), label.as_str())))
            .count();
        if enough(told) {
            return Some(format!(
                "it pairs the ids of test.csv with the labels `{}`",
                label.name
            ));
        }
    }
    None
}

/// Runs of letters, digits and what numbers are written with.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || "._-+".contains(c)))
        .filter(|word| !word.is_empty())
}
