//! Ranked guesses: by hand. More cases are in `crate::tests`.

use super::*;

#[test]
fn average_precision_by_hand() {
    // Hits at places 1 and 3 of two right answers: (1/1 + 2/3) / 2.
    assert_eq!(
        average_precision_at_k(&["a", "b"], &["a", "c", "b"], 3),
        (1.0 + 2.0 / 3.0) / 2.0
    );
    // Cut at k = 1: one hit of at most one.
    assert_eq!(average_precision_at_k(&["a", "b"], &["a", "b"], 1), 1.0);
    assert_eq!(average_precision_at_k(&["a"], &["b", "a", "a"], 5), 0.5);
    assert_eq!(average_precision_at_k::<&str>(&[], &["a"], 5), 0.0);
}

#[test]
fn map_without_rows_is_not_defined() {
    assert_eq!(map_at_k::<u8>(&[], &[], 5), Err(MetricError::Empty));
}
