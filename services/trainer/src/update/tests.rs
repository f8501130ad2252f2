//! What a group's rollouts weigh.

use journeyman_schemas::reward::Reward;

use super::*;

mod real_model;

fn rollout(score: Option<f64>, wall_s: f64) -> EndedRollout {
    let valid = score.is_some();
    EndedRollout {
        token_ids: vec![1, 2],
        logprobs: vec![-1.0, -1.0],
        truncated: false,
        reward: Reward {
            valid,
            markers: if valid { 6 } else { 2 },
            score,
            gain: score,
            place: None,
            parts: None,
            total: score.unwrap_or(-10.0),
            reason: None,
        },
        wall_s,
    }
}

fn group(number: u64, scores: &[Option<f64>]) -> EndedGroup {
    let rollouts = (1..)
        .zip(scores)
        .map(|(second, &score)| rollout(score, f64::from(second)))
        .collect();
    EndedGroup {
        group: number,
        policy_version: 0,
        improve: false,
        prompt: vec![1],
        rollouts,
        lost: 0,
    }
}

fn config(more: &str) -> RunConfig {
    let least = "[run]\nid = \"a\"\ntask = \"mlc-churn\"\nsteps = 1\nshuffle_rewards = SHUFFLE\n[model]\nid = \"m\"\n";
    let shuffle = if more == "shuffle" { "true" } else { "false" };
    let more = if more == "shuffle" { "" } else { more };
    toml::from_str(&format!("{}{more}", least.replace("SHUFFLE", shuffle))).unwrap()
}

#[test]
fn better_score_weighs_more_than_a_valid_one_and_that_more_than_none() {
    let weights = weights(
        &config(""),
        &[group(0, &[Some(0.94), Some(0.84), None, Some(0.84), None])],
    );
    assert!(
        weights[0][0] > weights[0][1] && weights[0][1] > weights[0][2],
        "{weights:?}"
    );
    assert!(weights[0].iter().sum::<f64>().abs() < 1e-9);
}

#[test]
fn equal_group_weighs_nothing() {
    assert_eq!(weights(&config(""), &[group(0, &[Some(0.9); 4])]), [[0.0; 4]]);
}

#[test]
fn durations_are_compared_over_the_whole_batch() {
    let groups = [group(0, &[Some(0.9), None]), group(1, &[Some(0.8), None])];
    let plain = weights(&config(""), &groups);
    let weighted = weights(&config("[grpo]\nduration_weight = \"dt\"\n"), &groups);
    // Durations 1, 2, 1, 2: mean 1.5.
    for (plain, weighted) in plain.iter().zip(&weighted) {
        assert!((weighted[0] - plain[0] / 1.5).abs() < 1e-9);
        assert!((weighted[1] - plain[1] * 2.0 / 1.5).abs() < 1e-9);
    }
}

#[test]
fn shuffled_rewards_are_the_same_rewards_in_another_order() {
    let scores: Vec<_> = (0..8).map(|index| Some(f64::from(index) / 10.0)).collect();
    let mut plain = weights(&config(""), &[group(3, &scores)]);
    let mut shuffled = weights(&config("shuffle"), &[group(3, &scores)]);
    assert_ne!(plain, shuffled);
    plain[0].sort_by(f64::total_cmp);
    shuffled[0].sort_by(f64::total_cmp);
    for (plain, shuffled) in plain[0].iter().zip(&shuffled[0]) {
        assert!((plain - shuffled).abs() < 1e-9);
    }
}

#[test]
fn ideator_uses_its_one_number() {
    let mut config = config("");
    config.run.policy = Policy::Ideator;
    assert_eq!(advantage_form(&config), Advantage::Sum);
}
