//! Tests of `reward`: the parts of each outcome, by hand.

use std::path::Path;

use journeyman_schemas::{ids::ContentHash, job::Solution};
use journeyman_tasks::definition::Rung;

use super::*;

const SCORE: RewardRule = RewardRule::Score {
    invalid: -10.0,
    marker: 0.1,
};

/// AUC from 0.5 to 0.9, or RMSE from 10 to 2.
fn task(metric: &str) -> Definition {
    let (lower, worst, best) = if metric == "auc" {
        (false, 0.5, 0.9)
    } else {
        (true, 10.0, 2.0)
    };
    let text = format!(
        "id = \"t\"\nname = \"t\"\nmetric = \"{metric}\"\nlower_is_better = {lower}\nid_column = \"id\"\n\
         target_columns = [\"y\"]\nreference = {{ worst = {worst:?}, best = {best:?} }}\n\
         limits = {{ program_s = 1.0, grade_s = 1.0 }}\n[source]\npackage = \"\"\nversion = \"\"\nsha256 = \"\"\n\
         file = \"\"\nlicence = \"\"\norigin = \"\"\n"
    );
    Definition::parse(&text, "t", Path::new("task.toml")).unwrap()
}

fn valid(score: f64, markers: u32) -> Result {
    Result {
        score: Ok(score),
        markers,
        not_run: None,
    }
}

fn invalid(markers: u32, not_run: Option<NotRun>) -> Result {
    Result {
        score: Err("why".to_owned()),
        markers,
        not_run,
    }
}

fn improve(score: Option<f64>) -> State {
    State::Improve(Solution {
        program: ContentHash::of(b""),
        output: None,
        score,
    })
}

#[test]
fn score_rule_adds_markers_to_the_score() {
    let reward = reward(&SCORE, &task("auc"), &State::Scratch, valid(0.75, 6));
    assert!((reward.total - 1.35).abs() < 1e-12);
    assert_eq!(
        (reward.valid, reward.markers, reward.score, reward.gain),
        (true, 6, Some(0.75), Some(0.75))
    );
    assert_eq!(reward.reason, None);
}

#[test]
fn score_rule_turns_the_sign_where_lower_is_better() {
    let reward = reward(&SCORE, &task("rmse"), &State::Scratch, valid(4.0, 1));
    assert!((reward.total - (-3.9)).abs() < 1e-12);
    assert_eq!((reward.score, reward.gain), (Some(4.0), Some(-4.0)));
}

#[test]
fn score_rule_without_a_submission_gives_the_penalty_and_the_markers() {
    let failed = reward(&SCORE, &task("auc"), &State::Scratch, invalid(2, None));
    assert!((failed.total - (-9.8)).abs() < 1e-12);
    assert_eq!((failed.valid, failed.score, failed.gain), (false, None, None));
    assert_eq!(failed.reason.as_deref(), Some("why"));
    let nothing = reward(
        &SCORE,
        &task("auc"),
        &State::Scratch,
        invalid(0, Some(NotRun::NoProgram)),
    );
    assert_eq!(nothing.total, -10.0);
}

#[test]
fn change_rule_gives_one_for_a_better_score_only() {
    let rule = RewardRule::Change {
        form: ChangeForm::Improved,
        malformed: -1.0,
    };
    let total = |metric: &str, before, result| reward(&rule, &task(metric), &improve(before), result).total;
    assert_eq!(total("auc", Some(0.8), valid(0.81, 6)), 1.0);
    assert_eq!(total("auc", Some(0.8), valid(0.8, 6)), 0.0);
    assert_eq!(total("auc", Some(0.8), invalid(6, None)), 0.0);
    assert_eq!(total("auc", None, valid(0.4, 0)), 1.0);
    assert_eq!(total("auc", None, invalid(0, None)), 0.0);
    assert_eq!(total("rmse", Some(4.0), valid(3.0, 0)), 1.0);
    assert_eq!(total("rmse", Some(4.0), valid(5.0, 0)), 0.0);
}

#[test]
fn change_rule_as_difference_counts_a_missing_score_as_the_worst() {
    let rule = RewardRule::Change {
        form: ChangeForm::Difference,
        malformed: -1.0,
    };
    let total = |metric: &str, before, result| reward(&rule, &task(metric), &improve(before), result).total;
    let near = |value: f64, wanted: f64| assert!((value - wanted).abs() < 1e-12, "{value} for {wanted}");
    near(total("auc", Some(0.7), valid(0.8, 0)), 0.25);
    near(total("auc", Some(0.7), invalid(0, None)), -0.5);
    near(total("auc", None, valid(0.7, 0)), 0.5);
    near(total("auc", Some(0.7), valid(0.3, 0)), -0.5);
    near(total("rmse", Some(6.0), valid(4.0, 0)), 0.25);
    near(
        reward(&rule, &task("auc"), &State::Scratch, valid(0.7, 0)).total,
        0.5,
    );
}

#[test]
fn change_rule_punishes_a_bad_idea() {
    for form in [ChangeForm::Improved, ChangeForm::Difference] {
        let rule = RewardRule::Change {
            form,
            malformed: -1.0,
        };
        let result = invalid(0, Some(NotRun::BadIdea));
        assert_eq!(
            reward(&rule, &task("auc"), &improve(Some(0.8)), result).total,
            -1.0
        );
    }
}

/// AUC from 0.5 to 0.9 with a rung at 0.75.
fn with_ladder() -> Definition {
    let mut task = task("auc");
    let rung = |reward: f64| Rung {
        name: "r".into(),
        program: "r.py".into(),
        reward,
        report: reward,
        cpu_s: 1.0,
    };
    task.ladder = [0.5, 0.75, 0.9].map(rung).to_vec();
    task
}

fn parts(validity: f64, markers: f64, score: f64) -> Option<RewardParts> {
    Some(RewardParts {
        validity,
        markers,
        score,
    })
}

#[test]
fn parts_are_kept_apart_and_sum_to_the_total() {
    let rules = [
        (SCORE, parts(0.0, 0.1 * 3.0, 0.75)),
        (
            RewardRule::Rank {
                invalid: -1.0,
                marker: 0.1,
            },
            // One of three rungs beaten, one tied.
            parts(0.0, 0.1 * 3.0, 0.5),
        ),
        (
            RewardRule::Ladder {
                invalid: -1.0,
                marker: 0.1,
            },
            // The middle of two steps.
            parts(0.0, 0.1 * 3.0, 0.5),
        ),
        (
            RewardRule::Components {
                validity: 1.0,
                markers: 0.5,
                score: 2.0,
            },
            parts(1.0, 0.25, 1.0),
        ),
        (
            RewardRule::Change {
                form: ChangeForm::Difference,
                malformed: -1.0,
            },
            // From 0.7 (0.5 of the scale) to 0.75 (0.625).
            parts(0.0, 0.0, 0.125),
        ),
    ];
    for (rule, wanted) in rules {
        let reward = reward(&rule, &with_ladder(), &improve(Some(0.7)), valid(0.75, 3));
        let (given, wanted) = (reward.parts.unwrap(), wanted.unwrap());
        for (given, wanted) in [
            (given.validity, wanted.validity),
            (given.markers, wanted.markers),
            (given.score, wanted.score),
            (reward.total, wanted.total()),
        ] {
            assert!((given - wanted).abs() < 1e-12, "{rule:?}: {reward:?}");
        }
        assert_eq!((reward.place, reward.gain), (Some(0.5), Some(0.75)));
    }
}

#[test]
fn invalid_submission_has_the_penalty_of_its_rule() {
    let rules = [
        (
            RewardRule::Rank {
                invalid: -1.0,
                marker: 0.1,
            },
            parts(-1.0, 0.2, 0.0),
        ),
        (
            RewardRule::Ladder {
                invalid: -2.0,
                marker: 0.1,
            },
            parts(-2.0, 0.2, 0.0),
        ),
        (
            RewardRule::Components {
                validity: 1.0,
                markers: 0.3,
                score: 2.0,
            },
            parts(0.0, 0.3 * 2.0 / 6.0, 0.0),
        ),
    ];
    for (rule, wanted) in rules {
        let reward = reward(&rule, &with_ladder(), &State::Scratch, invalid(2, None));
        assert_eq!(reward.parts, wanted, "{rule:?}");
        assert_eq!((reward.valid, reward.place), (false, None));
    }
}
