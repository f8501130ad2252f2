//! A sample submission that is better than the baseline: it carries labels.

use super::{Found, Material};

/// Share of the way from worst to best that counts as better.
const MARGIN: f64 = 0.02;

pub(super) fn check(task: &Material) -> Vec<Found> {
    let definition = &task.definition;
    let Some(score) = super::metric::sample_score(task) else {
        return Vec::new();
    };
    let (name, baseline) = super::metric::baseline(definition);
    let scale = (definition.reference.best - definition.reference.worst).abs();
    if definition.gain(score) <= definition.gain(baseline) + MARGIN * scale {
        return Vec::new();
    }
    vec![(
        "sample_submission.csv".to_owned(),
        format!(
            "it scores {score:.5}, but {name} scores {baseline:.5}; fill it with one value that knows nothing of the \
             answers"
        ),
    )]
}
