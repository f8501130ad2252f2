//! Quality of ranked lists of guesses; better when higher.

use crate::{MetricError, check_lengths, sum};

/// Mean over rows of [`average_precision_at_k`], 0 to 1. Each row has a set of right answers and a list of guesses,
/// best first.
pub fn map_at_k<T: PartialEq>(truth: &[Vec<T>], guesses: &[Vec<T>], k: usize) -> Result<f64, MetricError> {
    check_lengths(truth.len(), guesses.len())?;
    let scores: Vec<f64> = truth
        .iter()
        .zip(guesses)
        .map(|(right, guesses)| average_precision_at_k(right, guesses, k))
        .collect();
    Ok(sum::mean(&scores))
}

/// Average precision of the first `k` guesses, 0 to 1: Σ precision at each new hit / min(right answers, k).
///
/// A guess made again counts at its first place only. 0 if there is no right answer.
pub fn average_precision_at_k<T: PartialEq>(right: &[T], guesses: &[T], k: usize) -> f64 {
    let guesses = &guesses[..guesses.len().min(k)];
    let (mut hits, mut score) = (0u32, 0.0);
    for (place, guess) in guesses.iter().enumerate() {
        if right.contains(guess) && !guesses[..place].contains(guess) {
            hits += 1;
            score += f64::from(hits) / (place + 1) as f64;
        }
    }
    if right.is_empty() {
        0.0
    } else {
        score / right.len().min(k) as f64
    }
}

#[cfg(test)]
mod tests;
