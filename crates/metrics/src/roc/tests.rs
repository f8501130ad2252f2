//! AUC: by hand and properties. Cases of scikit-learn are in `crate::tests`.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

#[test]
fn auc_counts_ties_as_half() {
    // Pairs of (positive, negative): (0.5, 0.5) ties, (0.5, 0.1) is won, so 1.5 of 2.
    assert_eq!(auc(&[true, false, false], &[0.5, 0.5, 0.1]), Ok(0.75));
}

#[test]
fn auc_mean_is_the_mean_of_columns() {
    let truth = [vec![true, false], vec![true, false]];
    assert_eq!(auc_mean(&truth, &[vec![0.9, 0.1], vec![0.5, 0.5]]), Ok(0.75));
    assert_eq!(
        auc_mean(&[vec![true, true]], &[vec![0.9, 0.1]]),
        Err(MetricError::OneClass)
    );
}

#[test]
fn auc_without_a_value_says_why() {
    assert_eq!(auc(&[true, true], &[0.1, 0.2]), Err(MetricError::OneClass));
    assert_eq!(auc(&[true, false], &[0.1, f64::NAN]), Err(MetricError::NotFinite));
    assert_eq!(auc(&[], &[]), Err(MetricError::Empty));
}

#[test]
fn auc_equals_the_count_of_pairs_and_keeps_its_symmetries() {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    for _ in 0..300 {
        let n = rng.random_range(2..40);
        let levels = rng.random_range(1..20);
        let mut truth: Vec<bool> = (0..n).map(|_| rng.random_bool(0.3)).collect();
        (truth[0], truth[1]) = (true, false);
        let scores: Vec<f64> = (0..n)
            .map(|_| f64::from(rng.random_range(0..levels)) / 20.0)
            .collect();
        let value = auc(&truth, &scores).unwrap();

        let mut wins = 0.0;
        let mut pairs = 0.0;
        for i in (0..n).filter(|&i| truth[i]) {
            for j in (0..n).filter(|&j| !truth[j]) {
                pairs += 1.0;
                wins += if scores[i] > scores[j] {
                    1.0
                } else if scores[i] == scores[j] {
                    0.5
                } else {
                    0.0
                };
            }
        }
        assert!((value - wins / pairs).abs() < 1e-12);
        let negated: Vec<f64> = scores.iter().map(|score| -score).collect();
        assert!((auc(&truth, &negated).unwrap() - (1.0 - value)).abs() < 1e-12);
        let cubed: Vec<f64> = scores.iter().map(|score| score * score * score).collect();
        assert_eq!(auc(&truth, &cubed), Ok(value));
        let flipped: Vec<bool> = truth.iter().map(|yes| !yes).collect();
        assert!((auc(&flipped, &scores).unwrap() - (1.0 - value)).abs() < 1e-12);
    }
}
