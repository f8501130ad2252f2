//! AdamW, the global gradient norm and the warm-up, on flat slices.

use rayon::prelude::*;

/// Hyper-parameters of [`AdamW`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamWConfig {
    /// First-moment decay.
    pub beta1: f64,
    /// Second-moment decay.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub epsilon: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
}

/// AdamW (arXiv 1711.05101, algorithm 2) with bias correction, over one flat parameter vector.
#[derive(Clone, Debug, PartialEq)]
pub struct AdamW {
    steps: u64,
    first: Vec<f32>,
    second: Vec<f32>,
}

/// Bytes that are no saved optimizer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptimizerError {
    /// The length does not fit the parameters.
    #[error("saved optimizer has {found} bytes, but {parameters} parameters need {wanted}")]
    Length {
        /// Bytes found.
        found: usize,
        /// Parameters.
        parameters: usize,
        /// Bytes wanted.
        wanted: usize,
    },
}

impl AdamW {
    /// Before its first step, for `parameters` parameters.
    pub fn new(parameters: usize) -> Self {
        Self {
            steps: 0,
            first: vec![0.0; parameters],
            second: vec![0.0; parameters],
        }
    }

    /// Steps taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Moves `parameters` against `gradient` (both of the length given to [`AdamW::new`]).
    pub fn step(
        &mut self,
        parameters: &mut [f32],
        gradient: &[f32],
        learning_rate: f64,
        config: &AdamWConfig,
    ) {
        self.steps += 1;
        let steps = self.steps as i32;
        let (beta1, beta2) = (config.beta1 as f32, config.beta2 as f32);
        let correction1 = 1.0 - config.beta1.powi(steps);
        let correction2 = 1.0 - config.beta2.powi(steps);
        let step_size = (learning_rate / correction1) as f32;
        let root_scale = (1.0 / correction2.sqrt()) as f32;
        let epsilon = config.epsilon as f32;
        let keep = (1.0 - learning_rate * config.weight_decay) as f32;
        parameters
            .par_iter_mut()
            .zip(gradient)
            .zip(self.first.par_iter_mut().zip(&mut self.second))
            .with_min_len(1 << 14)
            .for_each(|((parameter, &gradient), (first, second))| {
                *first = beta1 * *first + (1.0 - beta1) * gradient;
                *second = beta2 * *second + (1.0 - beta2) * gradient * gradient;
                *parameter = *parameter * keep - step_size * *first / (second.sqrt() * root_scale + epsilon);
            });
    }

    /// The whole state, little-endian: steps as u64, then both moments as f32.
    pub fn to_bytes(&self) -> Vec<u8> {
        let moments = self
            .first
            .iter()
            .chain(&self.second)
            .flat_map(|value| value.to_le_bytes());
        self.steps.to_le_bytes().into_iter().chain(moments).collect()
    }

    /// Reads what [`AdamW::to_bytes`] wrote for `parameters` parameters.
    pub fn from_bytes(bytes: &[u8], parameters: usize) -> Result<Self, OptimizerError> {
        let wanted = 8 + 8 * parameters;
        let length = OptimizerError::Length {
            found: bytes.len(),
            parameters,
            wanted,
        };
        if bytes.len() != wanted {
            return Err(length);
        }
        let (steps, moments) = bytes.split_first_chunk::<8>().ok_or(length)?;
        let (values, _) = moments.as_chunks::<4>();
        let mut first: Vec<f32> = values.iter().map(|value| f32::from_le_bytes(*value)).collect();
        let second = first.split_off(parameters);
        Ok(Self {
            steps: u64::from_le_bytes(*steps),
            first,
            second,
        })
    }
}

/// Scales `gradient` so that its Euclidean norm over all parameters is at most `limit`; returns the norm before.
pub fn clip_global_norm(gradient: &mut [f32], limit: f64) -> f64 {
    let norm = gradient
        .iter()
        .map(|&value| f64::from(value) * f64::from(value))
        .sum::<f64>()
        .sqrt();
    if norm.is_finite() && norm > limit {
        let scale = (limit / norm) as f32;
        gradient.iter_mut().for_each(|value| *value *= scale);
    }
    norm
}

/// How the learning rate goes over a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// Highest rate.
    pub peak: f64,
    /// Steps over which it rises linearly to the peak.
    pub warmup_steps: u64,
    /// Steps of the run.
    pub steps: u64,
    /// Share of the peak to which it falls linearly until the last step; 1 = it stays.
    pub decay_to: f64,
}

impl Schedule {
    /// The rate of step `step`, from 1.
    pub fn rate(&self, step: u64) -> f64 {
        if step < self.warmup_steps {
            return self.peak * step as f64 / self.warmup_steps as f64;
        }
        let top = self.warmup_steps.max(1);
        let falling = self.steps.saturating_sub(top).max(1) as f64;
        let done = (step.saturating_sub(top) as f64 / falling).min(1.0);
        self.peak * (1.0 - done * (1.0 - self.decay_to))
    }
}

#[cfg(test)]
mod tests;
