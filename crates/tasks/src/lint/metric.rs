//! A metric, a direction, reference scores and a ladder that don't agree with each other.

use super::{Found, Material};
use crate::definition::Definition;

/// Relative difference of scores that rounding explains.
const ROUNDING: f64 = 1e-3;

pub(super) fn check(task: &Material) -> Vec<Found> {
    let definition = &task.definition;
    if let Some(problem) = definition.problem() {
        return vec![("task.toml".to_owned(), problem)];
    }
    let mut found = Vec::new();
    let mut add = |place: &str, change: String| found.push((format!("task.toml, {place}"), change));
    let (metric, (lowest, highest)) = (definition.metric.as_str(), definition.metric.scores());
    let best = definition
        .ladder
        .iter()
        .max_by(|a, b| definition.gain(a.reward).total_cmp(&definition.gain(b.reward)));
    let worst = definition.reference.worst;

    for rung in &definition.ladder {
        if let Some(score) = [rung.reward, rung.report]
            .iter()
            .find(|score| !(lowest..=highest).contains(*score))
        {
            add(
                &format!("ladder `{}`", rung.name),
                format!(
                    "the score {score} can't be one of the metric `{metric}`, which gives {lowest} to {highest}"
                ),
            );
        }
    }
    if let Some(best) = best
        && best.reward != definition.reference.best
    {
        add(
            "reference.best",
            format!(
                "it is {}, but the best of the ladder, `{}`, has {}; make them equal",
                definition.reference.best, best.name, best.reward
            ),
        );
    }
    let (_, baseline) = self::baseline(definition);
    let below = definition
        .ladder
        .iter()
        .filter(|rung| definition.gain(rung.reward) < definition.gain(baseline))
        .count();
    if 2 * below > definition.ladder.len() {
        add(
            "ladder",
            format!(
                "{below} of {} programs are worse than the baseline's {baseline}; is lower_is_better = {} right?",
                definition.ladder.len(),
                definition.lower_is_better
            ),
        );
    }
    if let Some(score) = sample_score(task)
        && definition.gain(score) < definition.gain(worst) - ROUNDING * worst.abs().max(0.1)
    {
        add(
            "reference.worst",
            format!(
                "it is {worst}, but the sample submission has the `{metric}` {score:.5}; measure reference and ladder \
                 with this metric"
            ),
        );
    }
    found
}

/// The sample submission's score on the reward half.
pub(super) fn sample_score(task: &Material) -> Option<f64> {
    let (_, csv) = task
        .public
        .iter()
        .find(|(name, _)| name == "sample_submission.csv")?;
    Some(task.grading.as_ref()?.grade(csv).ok()?.reward_half)
}

/// What a program without a model scores: name for people, and score.
pub(super) fn baseline(definition: &Definition) -> (&'static str, f64) {
    match definition.ladder.iter().find(|rung| rung.name == "baseline") {
        Some(rung) => ("the ladder's baseline", rung.reward),
        None => ("reference.worst", definition.reference.worst),
    }
}
