//! Tables and charts of steps with and without scores.

use journeyman_schemas::ids::ContentHash;
use serde_json::json;

use super::*;

fn step(step: u64, score: Option<f64>) -> StepMetrics {
    let policy = ContentHash::of(b"adapter");
    serde_json::from_value(json!({
        "step": step, "rollouts": 16, "rollouts_lost": 0, "valid_share": 0.5, "score_mean": score, "score_best": score,
        "reward_mean": -4.5, "markers_mean": 3.0, "tokens": 3000, "completion_tokens_mean": 190.0,
        "truncated_share": 0.0, "seconds": 90.0, "rollout_seconds": 60.0, "update_seconds": 30.0,
        "policy_version": step - 1, "policy": policy, "mismatch_max": 1e-5, "mismatch_mean": 1e-6,
        "mismatch_k3": 1e-11, "staleness_max": 0, "groups_improve": 1, "groups_skipped": 0, "loss": 0.1,
        "grad_norm": 0.5, "learning_rate": 1e-4, "entropy_mean": 0.4, "clip_fraction": 0.0,
        "execution_seconds_mean": 1.5
    }))
    .unwrap()
}

#[test]
fn steps_without_a_score_are_drawn_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("metrics.jsonl");
    let steps = [step(1, None), step(2, Some(0.84)), step(3, Some(0.93))];
    let lines: Vec<String> = steps
        .iter()
        .map(|step| serde_json::to_string(step).unwrap())
        .collect();
    fs::write(&path, lines.join("\n")).unwrap();
    show(&path).unwrap();
    let svg = fs::read_to_string(dir.path().join("chart.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("valid share"));
    assert_eq!(table(&read(&path).unwrap()).lines().count(), 4);
}

#[test]
fn run_without_any_score_is_drawn() {
    let dir = tempfile::tempdir().unwrap();
    draw(&[step(1, None)], &dir.path().join("chart.svg")).unwrap();
    draw(&[], &dir.path().join("empty.svg")).unwrap();
}

#[test]
fn torn_line_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("metrics.jsonl");
    fs::write(&path, "{\"step\": 1").unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(error.contains("line 1"), "{error}");
}
