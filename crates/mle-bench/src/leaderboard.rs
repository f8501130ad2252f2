//! Leaderboards: medal thresholds, ranks, and scores relative to the people on them.

use crate::{
    competition::Competition,
    frame::read::{ReadError, read},
};

/// Scores that earn medals, and the median; a score equal to a threshold earns the medal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Gold medal.
    pub gold: f64,
    /// Silver medal.
    pub silver: f64,
    /// Bronze medal.
    pub bronze: f64,
    /// Median of all teams.
    pub median: f64,
}

/// Scores of all teams, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Board(Vec<f64>);

/// Why a file is no leaderboard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoardError {
    /// A pointer of Git LFS in place of the file.
    #[error("it is a Git LFS pointer; `git lfs pull` in the MLE-bench repository fetches the file")]
    Pointer,
    /// Not CSV.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// No numeric column `score`, or no row.
    #[error("it needs a column `score` with a number in every row")]
    Scores,
}

/// How people did: a board if there is one, else thresholds alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Standings {
    /// Medal thresholds.
    pub thresholds: Thresholds,
    /// Whether a lower score is better.
    pub lower_is_better: bool,
    /// The boards, private first.
    pub boards: Vec<Board>,
}

/// What a score earns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Medals {
    /// At the gold threshold or better.
    pub gold: bool,
    /// At the silver threshold or better, but no gold.
    pub silver: bool,
    /// At the bronze threshold or better, but neither.
    pub bronze: bool,
    /// Better than the median; equal is not enough.
    pub above_median: bool,
}

impl Board {
    /// Reads a CSV with the column `score`, best first.
    pub fn read(bytes: &[u8]) -> Result<Self, BoardError> {
        if bytes.starts_with(b"version https://git-lfs") {
            return Err(BoardError::Pointer);
        }
        let frame = read(bytes)?;
        let scores = frame
            .column("score")
            .and_then(|column| column.floats())
            .filter(|scores| !scores.is_empty() && !scores[0].is_nan())
            .ok_or(BoardError::Scores)?;
        Ok(Self(scores))
    }

    /// Number of teams.
    pub fn teams(&self) -> usize {
        self.0.len()
    }

    /// Whether the first team's score is below the last's; a board of equal scores says no.
    pub fn lower_is_better(&self) -> bool {
        self.0[0] < self.0[self.0.len() - 1]
    }

    /// Medal thresholds by Kaggle's rules for the number of teams.
    pub fn thresholds(&self) -> Thresholds {
        let teams = self.0.len();
        let share = |share: f64| (teams as f64 * share) as usize;
        let (gold, silver, bronze) = match teams {
            0..100 => (share(0.1), share(0.2), share(0.4)),
            100..250 => (10, share(0.2), share(0.4)),
            250..1000 => (10 + share(0.002), 50, 100),
            _ => (10 + share(0.002), share(0.05), share(0.1)),
        };
        let at = |place: usize| self.0[place.max(1) - 1];
        Thresholds {
            gold: at(gold),
            silver: at(silver),
            bronze: at(bronze),
            median: self.median(),
        }
    }

    fn median(&self) -> f64 {
        let mut scores: Vec<f64> = self.0.iter().copied().filter(|score| !score.is_nan()).collect();
        scores.sort_by(f64::total_cmp);
        let middle = scores.len() / 2;
        if scores.len() % 2 == 1 {
            scores[middle]
        } else {
            (scores[middle - 1] + scores[middle]) / 2.0
        }
    }

    /// Share of teams that a score is at least as good as, 0 to 1: (teams − place + 1) / teams, where the place is one
    /// more than the number of better teams. MLE-Dojo's position score.
    pub fn human_rank(&self, score: f64, lower_is_better: bool) -> f64 {
        let better = self
            .0
            .iter()
            .filter(|other| {
                if lower_is_better {
                    **other < score
                } else {
                    **other > score
                }
            })
            .count();
        (self.0.len() - better) as f64 / self.0.len() as f64
    }

    /// Best and worst score.
    pub fn range(&self) -> (f64, f64) {
        (self.0[0], self.0[self.0.len() - 1])
    }
}

impl Standings {
    /// Of a board, or of the competition's table entry without one. MLE-bench takes the direction from the board.
    pub fn new(competition: &Competition, boards: Vec<Board>) -> Self {
        match boards.first() {
            Some(board) => Self {
                thresholds: board.thresholds(),
                lower_is_better: board.lower_is_better(),
                boards,
            },
            None => Self {
                thresholds: competition.thresholds,
                lower_is_better: competition.lower_is_better,
                boards,
            },
        }
    }

    /// Medals of a score; a NaN earns none.
    pub fn medals(&self, score: f64) -> Medals {
        let reaches = |threshold: f64| {
            if self.lower_is_better {
                score <= threshold
            } else {
                score >= threshold
            }
        };
        let gold = reaches(self.thresholds.gold);
        let silver = !gold && reaches(self.thresholds.silver);
        let bronze = !gold && !silver && reaches(self.thresholds.bronze);
        let above_median = if self.lower_is_better {
            score < self.thresholds.median
        } else {
            score > self.thresholds.median
        };
        Medals {
            gold,
            silver,
            bronze,
            above_median,
        }
    }

    /// Mean of [`Board::human_rank`] over the boards; `None` without one.
    pub fn human_rank(&self, score: f64) -> Option<f64> {
        if self.boards.is_empty() || score.is_nan() {
            return None;
        }
        let ranks = self
            .boards
            .iter()
            .map(|board| board.human_rank(score, self.lower_is_better));
        Some(ranks.sum::<f64>() / self.boards.len() as f64)
    }
}

/// 100 · (score − worst) / (best − worst), the normalised score of MLE-Ideator: 0 is the worst human, 100 the best, and
/// nothing is clipped.
///
/// Degenerate on many tasks: one absurd entry at the end of a board puts nearly everyone above 99. On 15 of 68 boards
/// the median team has at least 99. Fit for comparison with that paper, not as a reward.
pub fn normalised(score: f64, (best, worst): (f64, f64)) -> f64 {
    100.0 * (score - worst) / (best - worst)
}

/// (score − sample) / (best − sample): 0 is the sample submission, 1 the best known score, in either direction.
pub fn above_sample(score: f64, sample: f64, best: f64) -> f64 {
    (score - sample) / (best - sample)
}

#[cfg(test)]
mod tests;
