//! Draws repeat, and follow their probabilities.

use journeyman_schemas::ids::ContentHash;

use super::*;

fn archive(count: u8) -> Vec<ArchivedSolution> {
    (0..count)
        .map(|number| ArchivedSolution {
            solution: Solution {
                program: ContentHash::of(&[number]),
                output: None,
                score: Some(0.9),
            },
            gain: 0.9,
        })
        .collect()
}

#[test]
fn same_key_draws_the_same_state() {
    let best = archive(4);
    for group in 0..50 {
        assert_eq!(
            implementer_state(7, group, 0.5, &best),
            implementer_state(7, group, 0.5, &best)
        );
    }
    assert_eq!(sampling_seed(7, 3), sampling_seed(7, 3));
    assert_ne!(sampling_seed(7, 3), sampling_seed(7, 4));
    assert_ne!(sampling_seed(7, 3), sampling_seed(8, 3));
}

#[test]
fn improve_is_drawn_with_its_probability() {
    let best = archive(4);
    let improved = (0..4000)
        .filter(|&group| implementer_state(1, group, 0.25, &best) != State::Scratch)
        .count();
    // Binomial(4000, 0.25): mean 1000, standard deviation 27; five of them on each side.
    assert!((860..1140).contains(&improved), "{improved}");
}

#[test]
fn nothing_to_improve_means_scratch() {
    assert_eq!(implementer_state(1, 0, 1.0, &[]), State::Scratch);
    assert_eq!(ideator_state(1, 0, &[]), None);
}

#[test]
fn shuffle_keeps_the_rewards() {
    let mut rewards: Vec<u32> = (0..16).collect();
    shuffle(1, 2, &mut rewards);
    assert_ne!(rewards, (0..16).collect::<Vec<_>>());
    rewards.sort_unstable();
    assert_eq!(rewards, (0..16).collect::<Vec<_>>());
}
