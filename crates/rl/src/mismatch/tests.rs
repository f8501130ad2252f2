//! Golden values of docs on RL, section 5.4.

use super::*;

#[test]
fn mismatch_has_the_golden_values() {
    let mut mismatch = Mismatch::default();
    mismatch.add(&[-0.7, -2.0], &[-0.71, -1.98]);
    mismatch.add(&[-0.9, -0.5], &[-0.9, -0.52]);
    assert!((mismatch.mean() - 0.0125).abs() < 1e-6);
    assert!((mismatch.k1() + 0.0025).abs() < 1e-6);
    assert!((mismatch.k3() - 1.125454e-4).abs() < 1e-9, "{}", mismatch.k3());
    assert!((mismatch.max() - 0.02).abs() < 1e-6);
}

#[test]
fn equal_log_probabilities_have_no_mismatch() {
    let mut mismatch = Mismatch::default();
    assert_eq!(mismatch.mean(), 0.0);
    mismatch.add(&[-1.0, -2.0], &[-1.0, -2.0]);
    assert_eq!((mismatch.mean(), mismatch.max(), mismatch.k3()), (0.0, 0.0, 0.0));
}
