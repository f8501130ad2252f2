//! Draws of the run: which state a group is shown, which seed it samples with.
//!
//! Every draw is a function of (run seed, group number), so a restart repeats it without a stored generator.

use journeyman_schemas::job::{Solution, State};
use journeyman_store::ArchivedSolution;
use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

/// One generator for each purpose, so that a new use does not change the others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Which state a group is shown.
    State,
    /// The sampler's seed.
    Sampling,
    /// Shuffled rewards of the control experiment.
    Shuffle,
    /// The adapter at its start.
    Adapter,
}

/// A generator keyed by run seed, purpose and group.
pub(crate) fn generator(run_seed: u64, purpose: Purpose, group: u64) -> ChaCha8Rng {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&run_seed.to_le_bytes());
    seed[8..16].copy_from_slice(&(purpose as u64).to_le_bytes());
    seed[16..24].copy_from_slice(&group.to_le_bytes());
    ChaCha8Rng::from_seed(seed)
}

/// Seed with which the rollouts of `group` are sampled; each uses its own sample index.
pub(crate) fn sampling_seed(run_seed: u64, group: u64) -> u64 {
    generator(run_seed, Purpose::Sampling, group).random()
}

/// From scratch, or with `probability` one of the best solutions so far (RL4MLE, self-improvement prompt).
pub(crate) fn implementer_state(
    run_seed: u64,
    group: u64,
    probability: f64,
    best: &[ArchivedSolution],
) -> State {
    let mut random = generator(run_seed, Purpose::State, group);
    if best.is_empty() || random.random::<f64>() >= probability {
        return State::Scratch;
    }
    State::Improve(best[random.random_range(0..best.len())].solution.clone())
}

/// One of the attempts in the pool: each is a state in which the ideator is asked for help.
pub(crate) fn ideator_state(run_seed: u64, group: u64, pool: &[Solution]) -> Option<State> {
    let mut random = generator(run_seed, Purpose::State, group);
    let index = random.random_range(0..pool.len().max(1));
    pool.get(index).cloned().map(State::Improve)
}

/// Shuffles the rewards of a group (control experiment).
pub(crate) fn shuffle<T>(run_seed: u64, group: u64, rewards: &mut [T]) {
    rewards.shuffle(&mut generator(run_seed, Purpose::Shuffle, group));
}

#[cfg(test)]
mod tests;
