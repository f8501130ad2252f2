//! How far the trainer's log-probabilities are from the sampler's, before any update of the batch.

/// Sums over tokens, so that groups can be added up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mismatch {
    tokens: usize,
    absolute: f64,
    k1: f64,
    k3: f64,
    largest: f64,
}

impl Mismatch {
    /// Adds one sample: raw log-probabilities of the same tokens, in nats.
    pub fn add(&mut self, trainer: &[f32], sampler: &[f32]) {
        for (&trainer, &sampler) in trainer.iter().zip(sampler) {
            let difference = f64::from(trainer) - f64::from(sampler);
            self.tokens += 1;
            self.absolute += difference.abs();
            self.k1 -= difference;
            self.k3 += difference.exp() - 1.0 - difference;
            self.largest = self.largest.max(difference.abs());
        }
    }

    /// Mean |trainer − sampler|.
    pub fn mean(&self) -> f64 {
        self.absolute / self.tokens.max(1) as f64
    }

    /// Largest |trainer − sampler|.
    pub fn max(&self) -> f64 {
        self.largest
    }

    /// k1 estimate of KL(sampler ‖ trainer): mean(−d), d = trainer − sampler.
    pub fn k1(&self) -> f64 {
        self.k1 / self.tokens.max(1) as f64
    }

    /// k3 estimate of the same: mean(e^d − 1 − d).
    pub fn k3(&self) -> f64 {
        self.k3 / self.tokens.max(1) as f64
    }
}

#[cfg(test)]
mod tests;
