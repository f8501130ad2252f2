//! Tests of `metric`: by hand, against scikit-learn, and properties.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    metric: String,
    note: String,
    classes: usize,
    truth: Vec<f64>,
    predicted: Vec<f64>,
    score: f64,
}

#[test]
fn metrics_give_the_scores_of_scikit_learn() {
    let golden: Golden = serde_json::from_str(include_str!("../../testdata/metrics.json")).unwrap();
    assert!(golden.cases.len() > 60);
    for case in golden.cases {
        let bits: Vec<bool> = case.truth.iter().map(|value| *value == 1.0).collect();
        let score = match case.metric.as_str() {
            "auc" => auc(&bits, &case.predicted),
            "rmse" => rmse(&case.truth, &case.predicted),
            "accuracy" => accuracy(&case.truth, &case.predicted),
            "log_loss" => log_loss(&bits, &case.predicted),
            "log_loss_multi" => {
                let truth: Vec<usize> = case.truth.iter().map(|value| *value as usize).collect();
                log_loss_multi(&truth, &case.predicted, case.classes)
            }
            other => panic!("no metric `{other}`"),
        }
        .unwrap();
        let allowed = 1e-13 * case.score.abs().max(1e-3);
        assert!(
            (score - case.score).abs() <= allowed,
            "{} {}: {score} for {}",
            case.metric,
            case.note,
            case.score
        );
    }
}

#[test]
fn auc_counts_ties_as_half() {
    // Pairs of (positive, negative): (0.5, 0.5) ties, (0.5, 0.1) is won, so 1.5 of 2.
    assert_eq!(auc(&[true, false, false], &[0.5, 0.5, 0.1]), Ok(0.75));
}

#[test]
fn metrics_without_a_value_say_why() {
    assert_eq!(auc(&[true, true], &[0.1, 0.2]), Err(MetricError::OneClass));
    assert_eq!(auc(&[true, false], &[0.1, f64::NAN]), Err(MetricError::NotFinite));
    assert_eq!(rmse(&[0.0], &[1e200]), Err(MetricError::NotFinite));
    assert_eq!(accuracy::<u8>(&[], &[]), Err(MetricError::Empty));
    assert_eq!(
        accuracy(&[1], &[1, 2]),
        Err(MetricError::Length {
            truth: 1,
            predicted: 2
        })
    );
    assert_eq!(log_loss(&[true], &[f64::NAN]), Err(MetricError::NotFinite));
    assert_eq!(
        log_loss_multi(&[3], &[0.5, 0.5], 2),
        Err(MetricError::Class { class: 3, classes: 2 })
    );
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

#[test]
fn losses_are_least_at_the_truth_and_do_not_depend_on_row_order() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..200 {
        let n = rng.random_range(1..30);
        let truth: Vec<bool> = (0..n).map(|_| rng.random_bool(0.5)).collect();
        let p: Vec<f64> = (0..n).map(|_| rng.random_range(0.01..0.99)).collect();
        let certain: Vec<f64> = truth.iter().map(|&yes| f64::from(u8::from(yes))).collect();
        assert!(log_loss(&truth, &certain).unwrap() < log_loss(&truth, &p).unwrap());
        assert_eq!(rmse(&certain, &certain), Ok(0.0));
        assert!(rmse(&certain, &p).unwrap() > 0.0);

        let both: Vec<f64> = p.iter().flat_map(|p| [1.0 - p, *p]).collect();
        let classes: Vec<usize> = truth.iter().map(|&yes| usize::from(yes)).collect();
        let (binary, multi) = (
            log_loss(&truth, &p).unwrap(),
            log_loss_multi(&classes, &both, 2).unwrap(),
        );
        assert!((binary - multi).abs() < 1e-12);

        let reversed = |values: &[f64]| values.iter().rev().copied().collect::<Vec<f64>>();
        let (forward, backward) = (
            rmse(&certain, &p).unwrap(),
            rmse(&reversed(&certain), &reversed(&p)).unwrap(),
        );
        assert!((forward - backward).abs() < 1e-12);
    }
}
