//! Ids or row order that tell the target: sorted by it, in blocks of the same label, or drifting with it.
//!
//! Looks at train and at test, in the order of the ids and in the order of the rows.

use std::collections::{BTreeMap, BTreeSet};

use journeyman_metrics::correlation;

use super::{Found, Material};

/// Standard deviations from chance at which an order is not chance any more.
const NOT_CHANCE: f64 = 6.0;
/// Rows below which nothing can be told.
const FEWEST_ROWS: usize = 20;

pub(super) fn check(task: &Material) -> Vec<Found> {
    let mut found = Vec::new();
    let id = &task.definition.id_column;
    for label in &task.labels {
        for (file, table, labels) in [
            ("train.csv", &task.train, &label.train),
            ("test.csv", &task.test, &label.test),
        ] {
            let by_row: Vec<usize> = (0..labels.len()).collect();
            let by_id = table.column(id).map(order);
            let orders = [Some(by_row), by_id].into_iter().flatten();
            let worst = orders
                .map(|order| deviations(&order.iter().map(|&row| labels[row].as_str()).collect::<Vec<_>>()))
                .fold(0.0, f64::max);
            if worst > NOT_CHANCE {
                found.push((
                    format!("{file}, column `{id}`"),
                    format!(
                        "the order of ids or rows tells `{}` ({worst:.0} standard deviations from chance); shuffle the \
                         rows and number them anew",
                        label.name
                    ),
                ));
            }
        }
    }
    found
}

/// The rows sorted by their ids: as numbers if all are, as texts otherwise.
fn order(ids: &[String]) -> Vec<usize> {
    let numbers: Option<Vec<f64>> = ids.iter().map(|id| id.parse().ok()).collect();
    let mut order: Vec<usize> = (0..ids.len()).collect();
    match numbers {
        Some(numbers) => order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b])),
        None => order.sort_by_key(|&row| &ids[row]),
    }
    order
}

/// How far from chance the order of these labels is, in standard deviations.
fn deviations(labels: &[&str]) -> f64 {
    if labels.len() < FEWEST_ROWS {
        return 0.0;
    }
    let numbers: Option<Vec<f64>> = labels.iter().map(|label| label.parse().ok()).collect();
    let distinct: BTreeSet<&str> = labels.iter().copied().collect();
    let blocks = if distinct.len() * 5 <= labels.len() {
        equal_neighbours(labels)
    } else {
        0.0
    };
    numbers.map_or(blocks, |numbers| blocks.max(drift(&numbers)))
}

/// Neighbours with the same label, against the number that a random order has.
fn equal_neighbours(labels: &[&str]) -> f64 {
    let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
    for label in labels {
        *counts.entry(label).or_default() += 1.0;
    }
    let rows = labels.len() as f64;
    let chance: f64 = counts.values().map(|count| (count / rows) * (count / rows)).sum();
    let equal = labels.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64;
    let pairs = rows - 1.0;
    let deviation = (pairs * chance * (1.0 - chance)).sqrt();
    if deviation == 0.0 {
        0.0
    } else {
        (equal - pairs * chance) / deviation
    }
}

/// Rank correlation of the labels with their place and with the label before, each with its standard deviation 1/√rows.
fn drift(labels: &[f64]) -> f64 {
    let places: Vec<f64> = (0..labels.len()).map(|place| place as f64).collect();
    let along = correlation::spearman(labels, &places).unwrap_or(0.0);
    let neighbours = correlation::spearman(&labels[1..], &labels[..labels.len() - 1]).unwrap_or(0.0);
    along.abs().max(neighbours.abs()) * (labels.len() as f64).sqrt()
}
