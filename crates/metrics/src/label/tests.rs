//! Agreement of labels: by hand. Cases of scikit-learn are in `crate::tests`.

use super::*;

#[test]
fn kappa_weighs_by_rank_not_by_value() {
    // Ranks of 1, 2, 10 are those of 0, 1, 2.
    let spread = quadratic_weighted_kappa(&[1, 2, 10, 10], &[1, 10, 10, 2]);
    assert_eq!(spread, quadratic_weighted_kappa(&[0, 1, 2, 2], &[0, 2, 2, 1]));
}

#[test]
fn kappa_of_many_labels_agrees_with_the_sum_over_the_table() {
    // More labels than TABLE_LABELS: predictions are one rank off everywhere but at the end.
    let truth: Vec<usize> = (0..TABLE_LABELS + 500).collect();
    let predicted: Vec<usize> = truth
        .iter()
        .map(|label| (label + 1).min(truth.len() - 1))
        .collect();
    let rows = truth.len() as f64;
    let observed = rows - 1.0;
    let expected: f64 = truth
        .iter()
        .map(|&a| {
            predicted
                .iter()
                .map(|&b| (a as f64 - b as f64).powi(2))
                .sum::<f64>()
        })
        .sum::<f64>()
        / rows;
    let kappa = quadratic_weighted_kappa(&truth, &predicted).unwrap();
    assert!((kappa - (1.0 - observed / expected)).abs() < 1e-12);
}

#[test]
fn labels_without_a_value_say_why() {
    assert_eq!(accuracy::<u8>(&[], &[]), Err(MetricError::Empty));
    let lengths = MetricError::Length {
        truth: 1,
        predicted: 2,
    };
    assert_eq!(accuracy(&[1], &[1, 2]), Err(lengths));
    assert_eq!(f1_macro(&[1], &[1, 2]), Err(lengths));
    assert_eq!(
        quadratic_weighted_kappa(&[3, 3], &[3, 3]),
        Err(MetricError::Constant)
    );
}

#[test]
fn f1_micro_counts_a_label_once_in_a_row() {
    // One of two true labels is found, and one wrong one: 2·1 / (2 + 2).
    assert_eq!(f1_micro(&[vec![1, 2]], &[vec![1, 1, 3]]), Ok(0.5));
    assert_eq!(f1_micro::<u8>(&[vec![]], &[vec![]]), Ok(0.0));
}
