//! Correlations: by hand. Cases of scipy are in `crate::tests`.

use super::*;

#[test]
fn spearman_shares_ranks_among_ties() {
    assert_eq!(mean_ranks(&[3.0, 1.0, 3.0, -0.0, 0.0]), [4.5, 3.0, 4.5, 1.5, 1.5]);
    let score = spearman(&[1.0, 2.0, 3.0], &[10.0, 100.0, 1000.0]).unwrap();
    assert!((score - 1.0).abs() < 1e-15);
}

#[test]
fn correlation_of_constant_values_is_not_defined() {
    assert_eq!(pearson(&[1.0, 2.0], &[0.5, 0.5]), Err(MetricError::Constant));
    assert_eq!(spearman(&[1.0, 1.0], &[0.5, 0.6]), Err(MetricError::Constant));
    assert_eq!(pearson(&[1.0], &[2.0]), Err(MetricError::Constant));
    assert_eq!(
        pearson(&[1.0, 2.0], &[0.5, f64::NAN]),
        Err(MetricError::NotFinite)
    );
}
