//! Rewards, parts and durations of a group → one weight per sample.

/// Added to a standard deviation before it divides.
const EPSILON: f64 = 1e-6;

/// What is known of one sample of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The reward's parts put together by the run's rule.
    pub total: f64,
    /// Whether it has a valid submission.
    pub valid: bool,
    /// Progress markers reached.
    pub markers: f64,
    /// Score with the sign turned so that higher is better; none when invalid.
    pub gain: Option<f64>,
    /// Length of the completion.
    pub tokens: f64,
}

/// What is normalised within a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Advantage {
    /// `(total − mean) / (std + ε)` of the summed reward: GRPO (arXiv 2402.03300, section 4.1.2), as RL4MLE uses it.
    Sum,
    /// Each part normalised apart, then weighted and added: GDPO. Keeps a small gap of scores visible beside the
    /// large gap between valid and invalid.
    PerPart(PartWeights),
}

/// Weights of the parts.
#[derive(Clone, Debug, PartialEq)]
pub struct PartWeights {
    /// Of `valid`, normalised over the group.
    pub validity: f64,
    /// Of `markers`, normalised over the group.
    pub markers: f64,
    /// Of `gain`, normalised over the valid samples; an invalid sample has 0.
    pub score: f64,
    /// Added to the standard deviation of `gain`, in units of the score: noise between equal programs is not blown up.
    pub score_std_floor: f64,
    /// Of being short, normalised over the valid samples. Tokens that change nothing share the advantage of the program
    /// they stand in; without a price, filler grows until it meets the length limit.
    pub brevity: f64,
}

/// Added to the standard deviation of lengths, in tokens: a few tokens more or less don't matter.
const BREVITY_STD_FLOOR: f64 = 16.0;

/// One advantage per sample of a group. Standard deviations are of the sample (n − 1). Equal values give exactly 0.
pub fn advantages(group: &[Sample], form: &Advantage) -> Vec<f64> {
    match form {
        Advantage::Sum => normalise(&group.iter().map(|sample| sample.total).collect::<Vec<_>>(), 0.0),
        Advantage::PerPart(weights) => per_part(group, weights),
    }
}

fn per_part(group: &[Sample], weights: &PartWeights) -> Vec<f64> {
    let validity = normalise(
        &group
            .iter()
            .map(|sample| f64::from(u8::from(sample.valid)))
            .collect::<Vec<_>>(),
        0.0,
    );
    let markers = normalise(
        &group.iter().map(|sample| sample.markers).collect::<Vec<_>>(),
        0.0,
    );
    let scored = || group.iter().filter(|sample| sample.gain.is_some());
    let gains: Vec<f64> = scored().filter_map(|sample| sample.gain).collect();
    let lengths: Vec<f64> = scored().map(|sample| sample.tokens).collect();
    let mut scores = normalise(&gains, weights.score_std_floor).into_iter();
    let mut excesses = normalise(&lengths, BREVITY_STD_FLOOR).into_iter();
    group
        .iter()
        .zip(validity.iter().zip(&markers))
        .map(|(sample, (validity, markers))| {
            let score = sample.gain.and_then(|_| scores.next()).unwrap_or(0.0);
            let excess = sample.gain.and_then(|_| excesses.next()).unwrap_or(0.0);
            weights.validity * validity + weights.markers * markers + weights.score * score
                - weights.brevity * excess
        })
        .collect()
}

/// `(x − mean) / (std + floor + ε)`, std with n − 1; all 0 for fewer than two values or equal ones.
fn normalise(values: &[f64], floor: f64) -> Vec<f64> {
    let count = values.len() as f64;
    let all_equal = values.windows(2).all(|pair| pair[0] == pair[1]);
    if values.len() < 2 || all_equal {
        return vec![0.0; values.len()];
    }
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    values
        .iter()
        .map(|value| (value - mean) / (variance.sqrt() + floor + EPSILON))
        .collect()
}

/// One weight per sample that cancels a bias towards fast actions: RL4MLE's duration-aware gradient (arXiv 2509.01684).
///
/// `w[i] = d[i] / mean(d)`, the mean over the whole batch, so `mean(w) = 1`. Durations are execution times in seconds;
/// where all are 0 (nothing ran) every weight is 1.
pub fn duration_weights(durations_s: &[f64]) -> Vec<f64> {
    let mean = durations_s.iter().sum::<f64>() / durations_s.len().max(1) as f64;
    if mean <= 0.0 {
        return vec![1.0; durations_s.len()];
    }
    durations_s.iter().map(|duration| duration / mean).collect()
}

#[cfg(test)]
mod tests;
