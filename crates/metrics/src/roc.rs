//! Area under the ROC curve.

use crate::{MetricError, check_finite, check_lengths, mean_over_columns, sum};

/// A corner of the ROC curve as counts: how many negative and how many positive rows have a score at or above some
/// threshold.
type Corner = [u64; 2];

/// Area under the ROC curve: the chance that a positive row has a higher score than a negative one, ties counting
/// half. 0 to 1, better when higher.
///
/// Added up as scikit-learn does: trapezoids between the corners of the curve, points on straight lines dropped.
pub fn auc(truth: &[bool], scores: &[f64]) -> Result<f64, MetricError> {
    Ok(area(&curve(truth, scores)?))
}

/// The corners of the ROC curve from (0, 0) to (1, 1): false positive rate and true positive rate.
pub fn curve(truth: &[bool], scores: &[f64]) -> Result<Vec<[f64; 2]>, MetricError> {
    check_lengths(truth.len(), scores.len())?;
    check_finite(scores)?;
    let negatives = sorted_keys(truth, scores, false);
    let positives = sorted_keys(truth, scores, true);
    if positives.is_empty() || negatives.is_empty() {
        return Err(MetricError::OneClass);
    }
    let rate = |[negatives_above, positives_above]: Corner| {
        [
            negatives_above as f64 / negatives.len() as f64,
            positives_above as f64 / positives.len() as f64,
        ]
    };
    let mut rates = vec![[0.0, 0.0]];
    rates.extend(corners(&negatives, &positives).into_iter().map(rate));
    Ok(rates)
}

/// Area under straight lines from point to point, x first.
pub fn area(points: &[[f64; 2]]) -> f64 {
    sum::sum(
        points
            .windows(2)
            .map(|pair| (pair[1][0] - pair[0][0]) * (pair[1][1] + pair[0][1]) / 2.0),
    )
}

/// Mean of the AUCs of columns; each of `truth` and `scores` holds one vector per column.
pub fn auc_mean(truth: &[Vec<bool>], scores: &[Vec<f64>]) -> Result<f64, MetricError> {
    mean_over_columns(truth, scores, |truth, scores| auc(truth, scores))
}

/// The scores of one class as integers in the same order, highest first.
fn sorted_keys(truth: &[bool], scores: &[f64], class: bool) -> Vec<u64> {
    let mut keys: Vec<u64> = truth
        .iter()
        .zip(scores)
        .filter(|(row, _)| **row == class)
        .map(|(_, score)| ordered(*score))
        .collect();
    keys.sort_unstable();
    keys.reverse();
    keys
}

/// An integer that orders finite numbers as they do; 0.0 and -0.0 are equal.
fn ordered(score: f64) -> u64 {
    let bits = (score + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
}

/// The curve from the highest threshold to the lowest, less the points in the middle of straight lines of equal steps.
fn corners(negatives: &[u64], positives: &[u64]) -> Vec<Corner> {
    let mut kept: Vec<Corner> = Vec::new();
    // The two last points seen; whether the last is a corner shows when its successor is known.
    let mut before: Option<Corner> = None;
    let mut last: Option<Corner> = None;
    let (mut i, mut j) = (0, 0);
    while i < negatives.len() || j < positives.len() {
        let threshold = negatives.get(i).max(positives.get(j));
        while threshold.is_some() && negatives.get(i) == threshold {
            i += 1;
        }
        while threshold.is_some() && positives.get(j) == threshold {
            j += 1;
        }
        let next = [i as u64, j as u64];
        if let Some(point) = last {
            let straight = before.is_some_and(|before| {
                (0..2).all(|axis| next[axis] - point[axis] == point[axis] - before[axis])
            });
            if !straight {
                kept.push(point);
            }
        }
        (before, last) = (last, Some(next));
    }
    kept.extend(last);
    kept
}

#[cfg(test)]
mod tests;
