//! Errors of numbers: by hand. Cases of scikit-learn are in `crate::tests`.

use super::*;

#[test]
fn errors_by_hand() {
    assert_eq!(rmse(&[0.0, 0.0], &[3.0, 4.0]), Ok(12.5f64.sqrt()));
    assert_eq!(mae(&[0.0, 0.0], &[3.0, -4.0]), Ok(3.5));
    // ln(1 + (e − 1)) = 1.
    let score = rmsle(&[0.0], &[std::f64::consts::E - 1.0]).unwrap();
    assert!((score - 1.0).abs() < 1e-15);
}

#[test]
fn errors_without_a_value_say_why_and_overflow_is_infinite() {
    assert_eq!(rmse(&[0.0], &[f64::INFINITY]), Err(MetricError::NotFinite));
    assert_eq!(mae(&[f64::NAN], &[0.0]), Err(MetricError::NotFinite));
    assert_eq!(rmsle(&[1.0], &[-0.5]), Err(MetricError::Negative));
    assert_eq!(rmse(&[0.0], &[1e200]), Ok(f64::INFINITY));
}
