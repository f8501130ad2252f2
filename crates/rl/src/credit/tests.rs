//! Golden values of docs on RL, section 5.1, and properties.

use super::*;

fn totals(values: &[f64]) -> Vec<Sample> {
    values
        .iter()
        .map(|&total| Sample {
            total,
            valid: true,
            markers: 0.0,
            gain: Some(total),
            tokens: 200.0,
        })
        .collect()
}

#[track_caller]
fn check(found: &[f64], wanted: &[f64], tolerance: f64) {
    assert_eq!(found.len(), wanted.len());
    for (found_value, wanted_value) in found.iter().zip(wanted) {
        assert!(
            (found_value - wanted_value).abs() < tolerance,
            "{found:?} is not {wanted:?}"
        );
    }
}

const PARTS: PartWeights = PartWeights {
    validity: 1.0,
    markers: 0.0,
    score: 1.0,
    score_std_floor: 0.0,
    brevity: 0.0,
};

#[test]
fn sum_has_the_golden_values() {
    // [1,0,0,0]: mean .25, sample std .5, ε 1e-6.
    check(
        &advantages(&totals(&[1.0, 0.0, 0.0, 0.0]), &Advantage::Sum),
        &[1.499997, -0.499999, -0.499999, -0.499999],
        1e-6,
    );
    check(
        &advantages(&totals(&[0.7, 0.2, 0.2, -10.0]), &Advantage::Sum),
        &[0.5637, 0.4674, 0.4674, -1.4985],
        1e-4,
    );
}

#[test]
fn per_part_keeps_the_gap_of_scores_beside_an_invalid_sample() {
    let mut group = totals(&[0.7, 0.2, 0.2, -10.0]);
    group[3].valid = false;
    group[3].gain = None;
    // Validity [1,1,1,0]: mean .75, std .5 → [.5,.5,.5,−1.5]. Score of the valid: mean .366667, std .288675 →
    // [1.154701, −.577350, −.577350].
    check(
        &advantages(&group, &Advantage::PerPart(PARTS)),
        &[1.6547, -0.07735, -0.07735, -1.5],
        1e-4,
    );
}

#[test]
fn equal_rewards_have_no_advantage() {
    for form in [Advantage::Sum, Advantage::PerPart(PARTS)] {
        assert_eq!(advantages(&totals(&[0.8; 8]), &form), [0.0; 8]);
        assert_eq!(advantages(&totals(&[0.8]), &form), [0.0]);
        assert!(advantages(&[], &form).is_empty());
    }
}

#[test]
fn advantages_do_not_change_when_rewards_are_shifted_or_scaled() {
    let rewards = [0.3, -0.2, 0.9, 0.1, 0.5];
    let moved: Vec<f64> = rewards.iter().map(|reward| reward * 40.0 - 7.0).collect();
    let plain = advantages(&totals(&rewards), &Advantage::Sum);
    check(&advantages(&totals(&moved), &Advantage::Sum), &plain, 1e-4);
    assert!(plain.iter().sum::<f64>().abs() < 1e-9);
}

#[test]
fn floor_keeps_noise_small() {
    let parts = PartWeights {
        validity: 0.0,
        score_std_floor: 0.01,
        ..PARTS
    };
    let noise = advantages(
        &totals(&[0.93001, 0.93, 0.93002, 0.93]),
        &Advantage::PerPart(parts.clone()),
    );
    assert!(noise.iter().all(|advantage| advantage.abs() < 0.01), "{noise:?}");
    let real = advantages(&totals(&[0.84, 0.93, 0.84, 0.93]), &Advantage::PerPart(parts));
    assert!(real.iter().all(|advantage| advantage.abs() > 0.7), "{real:?}");
}

#[test]
fn of_equal_programs_the_shorter_one_is_preferred_and_a_better_one_may_be_longer() {
    let parts = PartWeights {
        score_std_floor: 0.02,
        score: 2.0,
        brevity: 0.25,
        ..PARTS
    };
    let of = |scores: &[f64], tokens: &[f64]| {
        let mut group = totals(scores);
        group
            .iter_mut()
            .zip(tokens)
            .for_each(|(sample, tokens)| sample.tokens = *tokens);
        advantages(&group, &Advantage::PerPart(parts.clone()))
    };
    // Lengths: mean 210, sample std 34.641, floor 16: −20 / 50.641 = −.3949 and 40 / 50.641 = .7899.
    check(
        &of(&[0.9; 3], &[190.0, 190.0, 250.0]),
        &[0.0987, 0.0987, -0.1975],
        1e-3,
    );
    let filler = of(&[0.94, 0.941, 0.939, 0.84], &[180.0, 180.0, 300.0, 180.0]);
    assert!(filler[2] < filler[0] && filler[3] < filler[2], "{filler:?}");
    assert!(
        of(&[0.9; 3], &[199.0, 200.0, 201.0])
            .iter()
            .all(|a| a.abs() < 0.02)
    );
}

#[test]
fn all_invalid_leaves_only_the_markers() {
    let group: Vec<Sample> = [1.0, 3.0]
        .map(|markers| Sample {
            total: -10.0,
            valid: false,
            markers,
            gain: None,
            tokens: 200.0,
        })
        .to_vec();
    let parts = PartWeights {
        markers: 1.0,
        ..PARTS
    };
    let found = advantages(&group, &Advantage::PerPart(parts));
    assert!(found[1] > 0.0 && found[0] < 0.0, "{found:?}");
}

#[test]
fn duration_weights_have_mean_one_and_ignore_the_unit() {
    check(&duration_weights(&[1.0, 10.0, 1.0]), &[0.25, 2.5, 0.25], 1e-12);
    let milliseconds = duration_weights(&[1000.0, 10_000.0, 1000.0]);
    check(&milliseconds, &[0.25, 2.5, 0.25], 1e-12);
    assert_eq!(duration_weights(&[0.0, 0.0]), [1.0, 1.0]);
    assert!(duration_weights(&[]).is_empty());
}
