//! Scores, and the two ways in which MLE-bench rounds them.

/// A score before rounding, with the type that it has in Python, since `round(score, 5)` depends on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Score {
    /// A Python float: the decimal nearest to its exact value, ties to even.
    Python(f64),
    /// A `numpy.float64`: multiplied by 10⁵, rounded to even, divided.
    Numpy(f64),
}

impl Score {
    /// Unrounded.
    pub fn raw(self) -> f64 {
        match self {
            Score::Python(value) | Score::Numpy(value) => value,
        }
    }

    /// Rounded to five decimals.
    pub fn rounded(self) -> f64 {
        match self {
            // A formatted float reads back; it is the nearest decimal, ties to even.
            Score::Python(value) if value.is_finite() => format!("{value:.5}").parse().unwrap_or(value),
            Score::Python(value) => value,
            Score::Numpy(value) => (value * 1e5).round_ties_even() / 1e5,
        }
    }
}
