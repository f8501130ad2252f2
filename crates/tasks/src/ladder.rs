//! Where a score stands among the scores of a task's reference solutions.

use crate::definition::Definition;

/// The share of the reference solutions that `score` beats, ties counting half: 0 to 1, whatever the metric.
///
/// It is MLE-Dojo's position score, (N − position + 1) / N, with the ladder as the board of N = rungs, the score itself
/// not counted. A task without a ladder has its two reference scores as the board.
pub fn rank(task: &Definition, score: f64) -> f64 {
    let gain = task.gain(score);
    let board = board(task);
    let beaten: f64 = board
        .iter()
        .map(|rung| match gain.total_cmp(rung) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Greater => 1.0,
        })
        .sum();
    beaten / board.len() as f64
}

/// The place of `score` on the ladder: 0 at the sample submission's score and below, 1 at the best known. The distinct
/// scores of the rungs between them cut the way into equal steps, and a place between two rungs is linear. Beyond the
/// best known it goes on as [`Definition::normalised`] does.
pub fn place(task: &Definition, score: f64) -> f64 {
    let (worst, best) = (task.gain(task.reference.worst), task.gain(task.reference.best));
    let gain = task.gain(score);
    if gain <= worst {
        return 0.0;
    }
    if gain >= best {
        return task.normalised(score);
    }
    let mut steps = vec![worst, best];
    let rungs = task.ladder.iter().map(|rung| task.gain(rung.reward));
    steps.extend(rungs.filter(|rung| *rung > worst && *rung < best));
    steps.sort_by(f64::total_cmp);
    steps.dedup();
    // `worst` is below and `best` above, so there is a step on either side.
    let above = steps.partition_point(|step| *step <= gain);
    let (from, to) = (steps[above - 1], steps[above]);
    (above as f64 - 1.0 + (gain - from) / (to - from)) / (steps.len() as f64 - 1.0)
}

/// The gains of the reference solutions, at least one.
fn board(task: &Definition) -> Vec<f64> {
    if task.ladder.is_empty() {
        return vec![task.gain(task.reference.worst), task.gain(task.reference.best)];
    }
    task.ladder.iter().map(|rung| task.gain(rung.reward)).collect()
}

#[cfg(test)]
mod tests;
