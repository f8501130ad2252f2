//! Tests of `ladder`: places and ranks by hand.

use std::path::Path;

use super::*;

/// Scores from 0.5 (sample) to 0.9 (best known), with rungs; or the same as a loss, 1 less the score.
fn task(lower: bool, rungs: &[f64]) -> Definition {
    let turned = |score: f64| if lower { 1.0 - score } else { score };
    let ladder: String = rungs
        .iter()
        .map(|rung| {
            let score = turned(*rung);
            format!("[[ladder]]\nname = \"r\"\nprogram = \"r.py\"\nreward = {score:?}\nreport = {score:?}\ncpu_s = 1.0\n")
        })
        .collect();
    let text = format!(
        "id = \"t\"\nname = \"t\"\nmetric = \"{}\"\nlower_is_better = {lower}\nid_column = \"id\"\n\
         target_columns = [\"y\"]\nreference = {{ worst = {:?}, best = {:?} }}\n\
         limits = {{ program_s = 1.0, grade_s = 1.0 }}\n[source]\npackage = \"\"\nversion = \"\"\nsha256 = \"\"\n\
         file = \"\"\nlicence = \"\"\norigin = \"\"\n{ladder}",
        if lower { "rmse" } else { "auc" },
        turned(0.5),
        turned(0.9),
    );
    Definition::parse(&text, "t", Path::new("task.toml")).unwrap()
}

/// Sample, two rungs between, one of them twice, best known.
const RUNGS: [f64; 5] = [0.5, 0.75, 0.75, 0.875, 0.9];

#[track_caller]
fn near(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-12, "{value} for {wanted}");
}

#[test]
fn place_takes_equal_steps_between_rungs_whatever_their_distance() {
    for lower in [false, true] {
        let task = task(lower, &RUNGS);
        let place = |score: f64| place(&task, if lower { 1.0 - score } else { score });
        // Steps: 0.5, 0.75, 0.875, 0.9.
        near(place(0.5), 0.0);
        near(place(0.625), 1.0 / 6.0);
        near(place(0.75), 1.0 / 3.0);
        near(place(0.8125), 0.5);
        near(place(0.875), 2.0 / 3.0);
        near(place(0.8875), 5.0 / 6.0);
        near(place(0.9), 1.0);
    }
}

#[test]
fn place_is_zero_below_the_sample_and_goes_on_beyond_the_best_known() {
    let task = task(false, &RUNGS);
    assert_eq!(place(&task, 0.3), 0.0);
    near(place(&task, 0.94), 1.1);
}

#[test]
fn place_without_rungs_is_the_normalised_score() {
    near(place(&task(false, &[]), 0.6), 0.25);
}

#[test]
fn rank_is_the_share_of_rungs_beaten_with_ties_as_halves() {
    for lower in [false, true] {
        let task = task(lower, &RUNGS);
        let rank = |score: f64| rank(&task, if lower { 1.0 - score } else { score });
        near(rank(0.4), 0.0);
        near(rank(0.5), 0.1);
        near(rank(0.75), 0.4);
        near(rank(0.8), 0.6);
        near(rank(0.95), 1.0);
    }
}

#[test]
fn rank_without_rungs_is_among_sample_and_best_known() {
    let task = task(false, &[]);
    near(rank(&task, 0.6), 0.5);
    near(rank(&task, 0.9), 0.75);
}
