//! Columns that give the target away: one that equals it, stands for it, or runs along with it, or a few that sum up
//! to it.
//!
//! Looks at train and test together. Sums are found with any weights, over numeric columns without gaps.

use std::collections::{BTreeSet, HashMap};

use journeyman_metrics::{correlation, roc};

use super::{Found, Material, labels_in_public, material::Label};

/// Share of rows in which a column that gives the target away must do so.
const NEARLY_ALL: f64 = 0.995;
/// Share of the errors of the most frequent label that a look-up in a column may leave.
const LOOK_UP_ERRORS: f64 = 0.02;
/// Share of the target's variance that a sum may leave unexplained.
const UNEXPLAINED: f64 = 1e-5;
/// Columns that a sum may have.
const SUM_COLUMNS: usize = 8;
/// Rows below which nothing can be told.
const FEWEST_ROWS: usize = 20;

pub(super) fn check(task: &Material) -> Vec<Found> {
    if task.train.rows() + task.test.rows() < FEWEST_ROWS {
        return Vec::new();
    }
    let hashes = labels_in_public::leaking_columns(task);
    let features: Vec<&str> = task.features().filter(|name| !hashes.contains(*name)).collect();
    task.labels
        .iter()
        .flat_map(|label| check_label(task, &features, label))
        .collect()
}

fn check_label(task: &Material, features: &[&str], label: &Label) -> Vec<Found> {
    let target: Vec<&str> = label.all().collect();
    let numbers = numbers(&target);
    let mut found = Vec::new();
    let mut others: Vec<(&str, Vec<f64>)> = Vec::new();
    for &name in features {
        let column: Vec<&str> = task.feature(name).collect();
        match gives_away(&column, &target, numbers.as_deref()) {
            Some(how) => found.push((
                format!("train.csv and test.csv, column `{name}`"),
                format!("it {how} `{}`; drop the column", label.name),
            )),
            None => others.extend(self::numbers(&column).map(|column| (name, column))),
        }
    }
    if let Some(sum) = numbers.and_then(|target| sum_to(&others, &target)) {
        let names: Vec<String> = sum.iter().map(|name| format!("`{name}`")).collect();
        found.push((
            format!("train.csv and test.csv, columns {}", names.join(", ")),
            format!("together they sum up to `{}`; drop them", label.name),
        ));
    }
    found
}

/// How a column gives the target away, if it does; `numbers` is the target where it is numeric.
fn gives_away(column: &[&str], target: &[&str], numbers: Option<&[f64]>) -> Option<String> {
    let equal = column
        .iter()
        .zip(target)
        .filter(|(field, label)| is_same(field, label))
        .count();
    let majority = most_frequent(target.iter().copied());
    let rows = target.len() as f64;
    if equal as f64 >= NEARLY_ALL * rows && majority < equal {
        return Some("equals".to_owned());
    }
    if looks_up(column, target, majority) {
        return Some("has a value for each label of".to_owned());
    }
    let target = numbers?;
    let (values, target): (Vec<f64>, Vec<f64>) = column
        .iter()
        .zip(target)
        .filter_map(|(field, label)| Some((number(field)?, *label)))
        .unzip();
    if (values.len() as f64) < 0.9 * rows {
        return None;
    }
    let labels: BTreeSet<u64> = target.iter().map(|label| label.to_bits()).collect();
    if labels.len() == 2 {
        let highest = target.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let yes: Vec<bool> = target.iter().map(|label| *label == highest).collect();
        let auc = roc::auc(&yes, &values).ok()?;
        let auc = auc.max(1.0 - auc);
        return (auc >= NEARLY_ALL).then(|| format!("alone has an AUC of {auc:.4} for"));
    }
    let pearson = correlation::pearson(&target, &values).ok()?;
    let spearman = correlation::spearman(&target, &values).ok()?;
    let strongest = if pearson.abs() > spearman.abs() {
        pearson
    } else {
        spearman
    };
    (strongest.abs() >= NEARLY_ALL).then(|| format!("has the correlation {strongest:.4} with"))
}

/// Whether the label can be looked up in a column with few values.
fn looks_up(column: &[&str], target: &[&str], majority: usize) -> bool {
    let labels: BTreeSet<&str> = target.iter().copied().collect();
    let mut by_value: HashMap<&str, HashMap<&str, usize>> = HashMap::new();
    for (field, label) in column.iter().zip(target) {
        *by_value.entry(field).or_default().entry(label).or_default() += 1;
    }
    // With a value of its own for nearly each row a column looks nothing up, and a number is no label.
    let few = target.len() / 5;
    if by_value.len() > few || labels.len() > few || labels.len() < 2 {
        return false;
    }
    let right: usize = by_value.values().filter_map(|counts| counts.values().max()).sum();
    let (errors, plain_errors) = (target.len() - right, target.len() - majority);
    errors as f64 <= LOOK_UP_ERRORS * plain_errors as f64
}

fn most_frequent<'a>(values: impl Iterator<Item = &'a str>) -> usize {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    counts.values().copied().max().unwrap_or(0)
}

/// The fewest columns, taken greedily, whose weighted sum is the target: each next one is the one that runs along most
/// with what is left (orthogonal matching pursuit).
fn sum_to<'a>(columns: &[(&'a str, Vec<f64>)], target: &[f64]) -> Option<Vec<&'a str>> {
    let mut left = centred(target);
    let all = dot(&left, &left);
    let columns: Vec<(&str, Vec<f64>)> = columns
        .iter()
        .map(|(name, column)| (*name, normalised(centred(column))))
        .collect();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut chosen = Vec::new();
    while all > 0.0 && chosen.len() < SUM_COLUMNS.min(columns.len()) {
        let (name, column) = columns
            .iter()
            .filter(|(name, _)| !chosen.contains(name))
            .max_by(|(_, a), (_, b)| dot(a, &left).abs().total_cmp(&dot(b, &left).abs()))?;
        let mut direction = column.clone();
        for axis in &basis {
            subtract(&mut direction, axis, dot(column, axis));
        }
        let length = dot(&direction, &direction).sqrt();
        if length < 1e-6 {
            return None;
        }
        let direction = normalised(direction);
        let share = dot(&left, &direction);
        subtract(&mut left, &direction, share);
        basis.push(direction);
        chosen.push(*name);
        if dot(&left, &left) <= UNEXPLAINED * all {
            return Some(chosen);
        }
    }
    None
}

fn centred(values: &[f64]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| value - mean).collect()
}

/// Length 1; a constant stays 0.
fn normalised(values: Vec<f64>) -> Vec<f64> {
    let length = dot(&values, &values).sqrt();
    if length == 0.0 {
        return values;
    }
    values.into_iter().map(|value| value / length).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `values -= weight · other`.
fn subtract(values: &mut [f64], other: &[f64], weight: f64) {
    for (value, other) in values.iter_mut().zip(other) {
        *value -= weight * other;
    }
}

fn is_same(a: &str, b: &str) -> bool {
    a == b || number(a).is_some_and(|a| number(b) == Some(a))
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// All of them as numbers, if they are.
fn numbers(texts: &[&str]) -> Option<Vec<f64>> {
    texts.iter().map(|text| number(text)).collect()
}
