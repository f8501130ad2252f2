//! All metrics against scikit-learn and scipy: `testdata/make_metrics.py` made the cases.

use serde::Deserialize;

use crate::{correlation, label, log_loss, ranking, regression, roc};

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    metric: String,
    note: String,
    size: usize,
    truth: String,
    predicted: String,
    score: String,
}

fn numbers(text: &str) -> Vec<f64> {
    text.split([' ', ';']).map(|word| word.parse().unwrap()).collect()
}

fn whole(text: &str) -> Vec<usize> {
    numbers(text).into_iter().map(|value| value as usize).collect()
}

fn rows(text: &str) -> Vec<Vec<usize>> {
    text.split(';').map(whole).collect()
}

#[test]
fn metrics_give_the_scores_of_scikit_learn() {
    let golden: Golden = serde_json::from_str(include_str!("../testdata/metrics.json")).unwrap();
    assert!(golden.cases.len() > 400);
    for case in golden.cases {
        let (truth, predicted) = (&case.truth, &case.predicted);
        let bits = || -> Vec<bool> { numbers(truth).iter().map(|value| *value == 1.0).collect() };
        // How many units in the last place scikit-learn may be away: where it takes logarithms or calls BLAS, the
        // last bits depend on the machine.
        let (score, ulps) = match case.metric.as_str() {
            "auc" => (roc::auc(&bits(), &numbers(predicted)), 0),
            "rmse" => (regression::rmse(&numbers(truth), &numbers(predicted)), 0),
            "mae" => (regression::mae(&numbers(truth), &numbers(predicted)), 0),
            "rmsle" => (regression::rmsle(&numbers(truth), &numbers(predicted)), 4),
            "accuracy" => (label::accuracy(&whole(truth), &whole(predicted)), 0),
            "f1_macro" => (label::f1_macro(&whole(truth), &whole(predicted)), 0),
            "f1_micro" => (label::f1_micro(&rows(truth), &rows(predicted)), 0),
            "qwk" => (
                label::quadratic_weighted_kappa(&whole(truth), &whole(predicted)),
                0,
            ),
            "mcc" => (label::matthews_correlation(&whole(truth), &whole(predicted)), 0),
            "map_at_k" => (ranking::map_at_k(&rows(truth), &rows(predicted), case.size), 0),
            "log_loss" => (log_loss::log_loss(&bits(), &numbers(predicted)), 4),
            "log_loss_multi" => (
                log_loss::log_loss_multi(&whole(truth), &numbers(predicted), case.size),
                4,
            ),
            "pearson" => (correlation::pearson(&numbers(truth), &numbers(predicted)), 0),
            "spearman" => (correlation::spearman(&numbers(truth), &numbers(predicted)), 0),
            other => panic!("no metric `{other}`"),
        };
        let (score, wanted): (f64, f64) = (score.unwrap(), case.score.parse().unwrap());
        let name = format!("{} {}: {score:?} for {wanted:?}", case.metric, case.note);
        if matches!(case.metric.as_str(), "pearson" | "spearman") {
            // Correlations near 0 are differences of large sums.
            assert!((score - wanted).abs() <= 1e-14, "{name}");
        } else {
            assert!(score.to_bits().abs_diff(wanted.to_bits()) <= ulps, "{name}");
        }
    }
}
