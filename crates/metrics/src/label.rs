//! Agreement of predicted labels with true ones; better when higher.

use std::collections::BTreeMap;

use crate::{MetricError, check_lengths, sum};

/// Distinct labels up to which kappa's expected table is added cell by cell, in numpy's order.
const TABLE_LABELS: usize = 3_000;

/// Share of predictions that equal the truth, 0 to 1.
pub fn accuracy<T: PartialEq>(truth: &[T], predicted: &[T]) -> Result<f64, MetricError> {
    check_lengths(truth.len(), predicted.len())?;
    let right = truth.iter().zip(predicted).filter(|(a, b)| a == b).count();
    Ok(right as f64 / truth.len() as f64)
}

/// F1 of each label, averaged over all labels that occur in the truth or in the predictions, 0 to 1.
pub fn f1_macro<T: Ord>(truth: &[T], predicted: &[T]) -> Result<f64, MetricError> {
    check_lengths(truth.len(), predicted.len())?;
    let mut counts: BTreeMap<&T, Counts> = BTreeMap::new();
    for (a, b) in truth.iter().zip(predicted) {
        counts.entry(a).or_default().truth += 1;
        counts.entry(b).or_default().predicted += 1;
        if a == b {
            counts.entry(a).or_default().both += 1;
        }
    }
    let scores: Vec<f64> = counts.values().map(Counts::f1).collect();
    Ok(sum::mean(&scores))
}

/// F1 of sets of labels, pooled over all rows, 0 to 1; 0 if neither side has a label. A label counts once in a row.
pub fn f1_micro<T: Ord>(truth: &[Vec<T>], predicted: &[Vec<T>]) -> Result<f64, MetricError> {
    check_lengths(truth.len(), predicted.len())?;
    let mut counts = Counts::default();
    for (a, b) in truth.iter().zip(predicted) {
        let (a, b) = (distinct(a), distinct(b));
        counts.truth += a.len();
        counts.predicted += b.len();
        counts.both += a.iter().filter(|label| b.binary_search(label).is_ok()).count();
    }
    Ok(counts.f1())
}

/// Cohen's kappa with quadratic weights: 1 is perfect, 0 is chance, below 0 is worse than chance.
///
/// As in scikit-learn, the distance of two labels is that of their RANKS among the labels that occur on either side,
/// not of their values: with the labels 1, 2 and 10, the distance from 2 to 10 is 1.
pub fn quadratic_weighted_kappa<T: Ord>(truth: &[T], predicted: &[T]) -> Result<f64, MetricError> {
    check_lengths(truth.len(), predicted.len())?;
    let mut labels: Vec<&T> = truth.iter().chain(predicted).collect();
    labels.sort_unstable();
    labels.dedup();
    // Each label is in the list that was made of them.
    let rank = |label: &T| labels.partition_point(|other| *other < label);
    let (mut true_counts, mut predicted_counts) = (vec![0u64; labels.len()], vec![0u64; labels.len()]);
    let mut observed = 0u128;
    for (a, b) in truth.iter().zip(predicted) {
        let (a, b) = (rank(a), rank(b));
        true_counts[a] += 1;
        predicted_counts[b] += 1;
        observed += u128::from(squared_distance(a, b));
    }
    let expected = expected_disagreement(&true_counts, &predicted_counts, truth.len());
    if expected == 0.0 {
        return Err(MetricError::Constant);
    }
    Ok(1.0 - observed as f64 / expected)
}

/// Matthews' correlation coefficient of any number of labels, −1 to 1; 0 if either side has one label only.
pub fn matthews_correlation<T: Ord>(truth: &[T], predicted: &[T]) -> Result<f64, MetricError> {
    check_lengths(truth.len(), predicted.len())?;
    let mut counts: BTreeMap<&T, Counts> = BTreeMap::new();
    for (a, b) in truth.iter().zip(predicted) {
        counts.entry(a).or_default().truth += 1;
        counts.entry(b).or_default().predicted += 1;
        if a == b {
            counts.entry(a).or_default().both += 1;
        }
    }
    // Counts below 2^26 rows give products that a float holds exactly.
    let rows = truth.len() as f64;
    let total = |term: fn(&Counts) -> f64| counts.values().map(term).sum::<f64>();
    let right = total(|count| count.both as f64);
    let both = right * rows - total(|count| (count.truth * count.predicted) as f64);
    let of_truth = rows * rows - total(|count| (count.truth * count.truth) as f64);
    let of_predicted = rows * rows - total(|count| (count.predicted * count.predicted) as f64);
    if of_truth * of_predicted == 0.0 {
        return Ok(0.0);
    }
    Ok(both / (of_truth * of_predicted).sqrt())
}

/// Rows of one label, or of all pooled.
#[derive(Default)]
struct Counts {
    both: usize,
    truth: usize,
    predicted: usize,
}

impl Counts {
    fn f1(&self) -> f64 {
        if self.truth + self.predicted == 0 {
            return 0.0;
        }
        2.0 * self.both as f64 / (self.truth + self.predicted) as f64
    }
}

/// Σ over pairs of labels of distance² · rows expected if both sides were independent.
fn expected_disagreement(truth: &[u64], predicted: &[u64], rows: usize) -> f64 {
    let labels = truth.len();
    if labels <= TABLE_LABELS {
        return sum::sum((0..labels * labels).map(|cell| {
            let (i, j) = (cell / labels, cell % labels);
            let expected = (predicted[i] * truth[j]) as f64 / rows as f64;
            squared_distance(i, j) as f64 * expected
        }));
    }
    // Σ (i−j)²·a_i·b_j = B·Σ i²a_i − 2·Σ i·a_i·Σ j·b_j + A·Σ j²b_j, exact in integers.
    let moment = |counts: &[u64], power: u32| -> u128 {
        counts
            .iter()
            .enumerate()
            .map(|(rank, count)| (rank as u128).pow(power) * u128::from(*count))
            .sum()
    };
    let squares = moment(truth, 2) + moment(predicted, 2);
    let cross = 2 * moment(truth, 1) * moment(predicted, 1);
    (squares * rows as u128 - cross) as f64 / rows as f64
}

fn squared_distance(a: usize, b: usize) -> u64 {
    (a.abs_diff(b) as u64).pow(2)
}

fn distinct<T: Ord>(labels: &[T]) -> Vec<&T> {
    let mut labels: Vec<&T> = labels.iter().collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

#[cfg(test)]
mod tests;
