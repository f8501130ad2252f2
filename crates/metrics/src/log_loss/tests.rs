//! Logistic loss: by hand and properties. Cases of scikit-learn are in `crate::tests`.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

#[test]
fn log_loss_without_a_value_says_why() {
    assert_eq!(log_loss(&[true], &[f64::NAN]), Err(MetricError::NotFinite));
    assert_eq!(
        log_loss_multi(&[3], &[0.5, 0.5], 2),
        Err(MetricError::Class { class: 3, classes: 2 })
    );
}

#[test]
fn log_loss_is_least_at_the_truth_and_equal_for_two_classes_in_both_forms() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..200 {
        let n = rng.random_range(1..30);
        let truth: Vec<bool> = (0..n).map(|_| rng.random_bool(0.5)).collect();
        let p: Vec<f64> = (0..n).map(|_| rng.random_range(0.01..0.99)).collect();
        let certain: Vec<f64> = truth.iter().map(|&yes| f64::from(u8::from(yes))).collect();
        assert!(log_loss(&truth, &certain).unwrap() < log_loss(&truth, &p).unwrap());

        let both: Vec<f64> = p.iter().flat_map(|p| [1.0 - p, *p]).collect();
        let classes: Vec<usize> = truth.iter().map(|&yes| usize::from(yes)).collect();
        assert_eq!(log_loss(&truth, &p), log_loss_multi(&classes, &both, 2));
    }
}
