//! Golden values of docs on RL, section 5.2, finite differences, and properties.

use super::*;

const OLD: [&[f32]; 2] = [&[-1.0, -2.0], &[-0.5, -0.5, -0.5, -0.5]];
const NEW: [&[f32]; 2] = [&[-0.7, -2.0], &[-0.9, -0.5, -0.3, -0.5]];

fn owned(rows: &[&[f32]]) -> Vec<Vec<f32>> {
    rows.iter().map(|row| row.to_vec()).collect()
}

fn loss(new: &[Vec<f32>], weights: &[f64], clip_high: f64) -> LossOutputs {
    let old = owned(&OLD);
    policy_loss(&LossInputs {
        new,
        old: &old,
        weights,
        clip_low: 0.2,
        clip_high,
        batch_tokens: 6,
    })
}

#[test]
fn token_mean_has_the_golden_values() {
    // Token losses [−1.2, −1], [.8, 1, 1.221403, 1]; their mean over 6 tokens is .303567.
    let symmetric = loss(&owned(&NEW), &[1.0, -1.0], 0.2);
    assert!((symmetric.loss - 0.303567).abs() < 1e-6, "{}", symmetric.loss);
    assert_eq!((symmetric.clipped_tokens, symmetric.tokens), (2, 6));
    let higher = loss(&owned(&NEW), &[1.0, -1.0], 0.28);
    assert!((higher.loss - 0.290234).abs() < 1e-6, "{}", higher.loss);
}

#[test]
fn gradient_is_what_finite_differences_say() {
    let new = owned(&NEW);
    let gradient = loss(&new, &[1.3, -0.7], 0.28).gradient;
    let step = 1e-3_f32;
    for sample in 0..new.len() {
        for token in 0..new[sample].len() {
            let moved = |by: f32| {
                let mut moved = new.clone();
                moved[sample][token] += by;
                loss(&moved, &[1.3, -0.7], 0.28).loss
            };
            let numeric = (moved(step) - moved(-step)) / f64::from(2.0 * step);
            let found = f64::from(gradient[sample][token]);
            assert!(
                (numeric - found).abs() < 1e-3 * found.abs().max(0.1),
                "{sample} {token}: {numeric} {found}"
            );
        }
    }
}

#[test]
fn on_policy_gradient_is_minus_the_weight_over_all_tokens() {
    let new = owned(&OLD);
    let outputs = loss(&new, &[2.0, -1.0], 0.28);
    for (row, weight) in outputs.gradient.iter().zip([2.0_f32, -1.0]) {
        assert!(row.iter().all(|value| (value + weight / 6.0).abs() < 1e-7));
    }
}

#[test]
fn groups_in_micro_batches_add_up_to_the_batch() {
    let (new, old) = (owned(&NEW), owned(&OLD));
    let whole = loss(&new, &[1.0, -1.0], 0.28);
    let mut sum = 0.0;
    for sample in 0..2 {
        let part = policy_loss(&LossInputs {
            new: &new[sample..=sample],
            old: &old[sample..=sample],
            weights: &[[1.0, -1.0][sample]],
            clip_low: 0.2,
            clip_high: 0.28,
            batch_tokens: 6,
        });
        assert_eq!(part.gradient[0], whole.gradient[sample]);
        sum += part.loss;
    }
    assert!((sum - whole.loss).abs() < 1e-12);
}

#[test]
fn zero_weight_and_empty_samples_change_nothing() {
    let outputs = loss(&owned(&NEW), &[0.0, 0.0], 0.28);
    assert_eq!(outputs.loss, 0.0);
    assert!(outputs.gradient.iter().flatten().all(|&value| value == 0.0));
    let empty = policy_loss(&LossInputs {
        new: &[vec![]],
        old: &[vec![]],
        weights: &[1.0],
        clip_low: 0.2,
        clip_high: 0.28,
        batch_tokens: 0,
    });
    assert_eq!((empty.loss, empty.tokens), (0.0, 0));
}

#[test]
fn huge_ratios_stay_finite() {
    let new = vec![vec![0.0], vec![-1000.0]];
    let old = vec![vec![-1000.0], vec![0.0]];
    for weight in [1.0, -1.0] {
        let outputs = policy_loss(&LossInputs {
            new: &new,
            old: &old,
            weights: &[weight, weight],
            clip_low: 0.2,
            clip_high: 0.28,
            batch_tokens: 2,
        });
        assert!(outputs.loss.is_finite());
        assert!(outputs.gradient.iter().flatten().all(|value| value.is_finite()));
    }
}
