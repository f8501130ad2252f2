//! From what came of a rollout to its reward.

use journeyman_schemas::{
    execution::{Marker, NotRun},
    job::State,
    reward::{ChangeForm, Reward, RewardParts, RewardRule},
};
use journeyman_tasks::{definition::Definition, ladder};

/// What came of a rollout.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Result {
    /// Score on the reward half, or why there is none.
    pub(crate) score: std::result::Result<f64, String>,
    /// Markers reached.
    pub(crate) markers: u32,
    /// Why nothing ran, if so.
    pub(crate) not_run: Option<NotRun>,
}

/// Puts the parts together by the run's rule. Each part is kept.
///
/// - [`RewardRule::Score`]: the gain (the score, higher is better) or `invalid`, and `marker` for each marker.
/// - [`RewardRule::Rank`] and [`RewardRule::Ladder`]: the same with [`ladder::rank`] or [`ladder::place`] for the gain.
/// - [`RewardRule::Components`]: 1 for being valid, the share of all markers, and the place, each with its weight.
/// - [`RewardRule::Change`]: `malformed` for a bad idea. Else, against the score of the state's solution: `improved`
///   is 1 if the gain rose, or if there is a score where there was none, and 0 otherwise; `difference` is the change
///   on the task's normalised scale (0 = sample submission, 1 = best known), where a missing score counts as the
///   worst of the task, 0, and no score counts as less.
pub(crate) fn reward(rule: &RewardRule, task: &Definition, state: &State, result: Result) -> Reward {
    let score = result.score.as_ref().ok().copied();
    let place = score.map(|score| ladder::place(task, score));
    let with_markers = |value: Option<f64>, invalid: f64, marker: f64| RewardParts {
        validity: if value.is_some() { 0.0 } else { invalid },
        markers: marker * f64::from(result.markers),
        score: value.unwrap_or(0.0),
    };
    let parts = match *rule {
        RewardRule::Score { invalid, marker } => {
            with_markers(score.map(|score| task.gain(score)), invalid, marker)
        }
        RewardRule::Rank { invalid, marker } => {
            with_markers(score.map(|score| ladder::rank(task, score)), invalid, marker)
        }
        RewardRule::Ladder { invalid, marker } => with_markers(place, invalid, marker),
        RewardRule::Components {
            validity,
            markers,
            score: weight,
        } => RewardParts {
            validity: if score.is_some() { validity } else { 0.0 },
            markers: markers * f64::from(result.markers) / Marker::ALL.len() as f64,
            score: place.map_or(0.0, |place| weight * place),
        },
        RewardRule::Change { malformed, .. } if result.not_run == Some(NotRun::BadIdea) => RewardParts {
            validity: malformed,
            ..RewardParts::default()
        },
        RewardRule::Change { form, .. } => {
            let before = match state {
                State::Scratch => None,
                State::Improve(solution) => solution.score,
            };
            RewardParts {
                score: change(form, task, before, score),
                ..RewardParts::default()
            }
        }
    };
    Reward {
        valid: score.is_some(),
        markers: result.markers,
        score,
        gain: score.map(|score| task.gain(score)),
        place,
        parts: Some(parts),
        total: parts.total(),
        reason: result.score.err(),
    }
}

fn change(form: ChangeForm, task: &Definition, before: Option<f64>, after: Option<f64>) -> f64 {
    match form {
        ChangeForm::Improved => {
            let rose = match (before, after) {
                (Some(before), Some(after)) => task.gain(after) > task.gain(before),
                (None, after) => after.is_some(),
                (Some(_), None) => false,
            };
            f64::from(u8::from(rose))
        }
        ChangeForm::Difference => {
            let place = |score: Option<f64>| score.map_or(0.0, |score| task.normalised(score).max(0.0));
            place(after) - place(before)
        }
    }
}

#[cfg(test)]
mod tests;
