//! From a submission file to a report.

use std::path::{Path, PathBuf};

use crate::{
    competition::Competition,
    frame::{
        Frame,
        read::{ReadError, SIZE_LIMIT, read},
    },
    graders::grader,
    leaderboard::{Standings, above_sample, normalised},
    refusal::Refusal,
    report::{Report, Scales},
    score::Score,
    strict,
};

/// How closely ids, rows and scores are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As MLE-bench, to the last digit.
    #[default]
    Compat,
    /// Ids equal, every row there, a finite score.
    Strict,
}

/// What a submission is graded with.
#[derive(Clone, Debug)]
pub struct Grading<'a> {
    /// Facts of the competition.
    pub competition: &'a Competition,
    /// The answers.
    pub answers: Frame,
    /// How people did.
    pub standings: Standings,
    /// The sample submission, for the scale that starts at it.
    pub sample_submission: Option<PathBuf>,
}

/// Why there can't even be a report.
#[derive(Debug, thiserror::Error)]
pub enum GradeError {
    /// No such competition in the table.
    #[error(
        "there is no competition `{id}`; `journeyman tasks ls --mle-bench-data DIR` lists those that there are"
    )]
    Unknown {
        /// What was asked for.
        id: String,
    },
    /// Its grader is not native.
    #[error(
        "competition `{id}` has no native grader; --run-grade-py runs MLE-bench's own, with --mle-bench-repo"
    )]
    NoGrader {
        /// Which one.
        id: String,
    },
    /// The answers can't be read.
    #[error("can't read the answers `{}`: {problem}", path.display())]
    Answers {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// What came of a submission file.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// No file, or not called `.csv`.
    Missing(String),
    /// No score; the sentence tells what to change.
    Invalid(String),
    /// A score, which may be NaN in compat mode.
    Valid(Score),
}

impl Verdict {
    /// The score, if there is one.
    pub fn score(&self) -> Option<Score> {
        match self {
            Verdict::Valid(score) => Some(*score),
            Verdict::Missing(_) | Verdict::Invalid(_) => None,
        }
    }
}

/// Reads answers.
pub fn read_answers(path: &Path) -> Result<Frame, GradeError> {
    let problem = |problem: String| GradeError::Answers {
        path: path.to_owned(),
        problem,
    };
    if path.extension().is_some_and(|extension| extension == "jsonl") {
        return Err(problem("answers in JSON lines have no native grader".to_owned()));
    }
    let bytes = std::fs::read(path).map_err(|error| problem(error.to_string()))?;
    read(&bytes).map_err(|error| problem(error.to_string()))
}

impl Grading<'_> {
    /// Whether the competition has a native grader.
    pub fn check(&self) -> Result<(), GradeError> {
        match grader(&self.competition.id) {
            Some(_) => Ok(()),
            None => Err(GradeError::NoGrader {
                id: self.competition.id.clone(),
            }),
        }
    }

    /// Scores a file.
    pub fn verdict(&self, submission: &Path, mode: Mode) -> Verdict {
        let frame = match read_submission(submission) {
            Ok(frame) => frame,
            Err(verdict) => return verdict,
        };
        match self.score(&frame, mode) {
            Ok(score) => Verdict::Valid(score),
            Err(refusal) => Verdict::Invalid(refusal.to_string()),
        }
    }

    /// Scores a table.
    pub fn score(&self, submission: &Frame, mode: Mode) -> Result<Score, Refusal> {
        let Some(grade) = grader(&self.competition.id) else {
            return Err(Refusal::new("the competition has no native grader"));
        };
        if submission.names.is_empty() {
            return Err(Refusal::new(
                "the file is empty; write a header and one row per test row",
            ));
        }
        if submission.rows == 0 {
            return Err(Refusal::new(
                "the file has a header, but no rows; write one row per test row",
            ));
        }
        match mode {
            Mode::Compat => grade(submission, &self.answers),
            Mode::Strict => {
                let aligned = strict::align(submission, &self.answers, self.competition)?;
                let score = grade(&aligned, &self.answers)?;
                if score.raw().is_finite() {
                    Ok(score)
                } else {
                    Err(Refusal::new(format!(
                        "the score is {}; check for missing, constant or huge predictions",
                        score.raw()
                    )))
                }
            }
        }
    }

    /// Writes a verdict into a report.
    ///
    /// - `created_at`: local time, ISO 8601 with microseconds
    /// - `raw`: adds the unrounded score
    pub fn report(&self, submission: &Path, verdict: &Verdict, created_at: String, raw: bool) -> Report {
        let score = verdict.score();
        let rounded = score.map(Score::rounded);
        let medals = rounded
            .map(|rounded| self.standings.medals(rounded))
            .unwrap_or_default();
        let finite = |value: f64| value.is_finite().then_some(value);
        let reason = match verdict {
            Verdict::Missing(reason) | Verdict::Invalid(reason) => Some(reason.clone()),
            Verdict::Valid(score) if score.raw().is_nan() => Some(
                "the score is NaN, which MLE-bench counts as valid: predictions are constant or missing"
                    .to_owned(),
            ),
            Verdict::Valid(score) if !score.raw().is_finite() => Some("the score is infinite".to_owned()),
            Verdict::Valid(_) => None,
        };
        let thresholds = self.standings.thresholds;
        Report {
            competition_id: self.competition.id.clone(),
            score: rounded.and_then(finite),
            gold_threshold: thresholds.gold,
            silver_threshold: thresholds.silver,
            bronze_threshold: thresholds.bronze,
            median_threshold: thresholds.median,
            any_medal: medals.gold || medals.silver || medals.bronze,
            gold_medal: medals.gold,
            silver_medal: medals.silver,
            bronze_medal: medals.bronze,
            above_median: medals.above_median,
            submission_exists: !matches!(verdict, Verdict::Missing(_)),
            valid_submission: score.is_some(),
            is_lower_better: self.standings.lower_is_better,
            created_at,
            submission_path: submission.display().to_string(),
            reason,
            score_raw: score.map(Score::raw).and_then(finite).filter(|_| raw),
            scales: rounded.and_then(finite).map(|score| self.scales(score)),
        }
    }

    fn scales(&self, score: f64) -> Scales {
        let board = self.standings.boards.first();
        let range = board.map(|board| board.range()).or(self.competition.range);
        let finite = |value: f64| value.is_finite().then_some(value);
        let sample = || {
            let frame = read_submission(self.sample_submission.as_ref()?).ok()?;
            Some(self.score(&frame, Mode::Compat).ok()?.raw())
        };
        Scales {
            normalised: range.and_then(|range| finite(normalised(score, range))),
            human_rank: self.standings.human_rank(score),
            above_sample: match board {
                Some(_) => None,
                None => {
                    let best = range.map_or(self.standings.thresholds.gold, |(best, _)| best);
                    sample().and_then(|sample| finite(above_sample(score, sample, best)))
                }
            },
        }
    }
}

/// The table of a submission file.
pub fn read_submission(path: &Path) -> Result<Frame, Verdict> {
    let is_csv = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    if path.is_dir() {
        return Err(Verdict::Missing("it is a directory; write a file".to_owned()));
    }
    let Ok(metadata) = std::fs::metadata(path) else {
        return Err(Verdict::Missing(
            "there is no such file; write submission.csv".to_owned(),
        ));
    };
    if !is_csv || !metadata.is_file() {
        return Err(Verdict::Missing(
            "its name does not end in .csv; rename it".to_owned(),
        ));
    }
    let invalid = |error: ReadError| Verdict::Invalid(error.to_string());
    if metadata.len() > SIZE_LIMIT {
        return Err(invalid(ReadError::TooLarge { size: metadata.len() }));
    }
    let bytes =
        std::fs::read(path).map_err(|error| Verdict::Invalid(format!("it can't be read: {error}")))?;
    read(&bytes).map_err(invalid)
}
