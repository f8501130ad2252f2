//! Reports with MLE-bench's keys, types and order, and what Journeyman adds below them.

use serde::Serialize;

/// The report of one submission. The keys up to `submission_path` are MLE-bench's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Which competition.
    pub competition_id: String,
    /// Rounded to five decimals; null without a score, and for NaN and infinity, which JSON lacks (see `reason`).
    pub score: Option<f64>,
    /// Score that earns gold.
    pub gold_threshold: f64,
    /// Score that earns silver.
    pub silver_threshold: f64,
    /// Score that earns bronze.
    pub bronze_threshold: f64,
    /// Median of the board.
    pub median_threshold: f64,
    /// One of the three below.
    pub any_medal: bool,
    /// Gold.
    pub gold_medal: bool,
    /// Silver, not gold.
    pub silver_medal: bool,
    /// Bronze, neither of the others.
    pub bronze_medal: bool,
    /// Better than the median.
    pub above_median: bool,
    /// There is a file with the ending `.csv`.
    pub submission_exists: bool,
    /// It has a score; a score of NaN counts, as in MLE-bench.
    pub valid_submission: bool,
    /// Direction of the metric.
    pub is_lower_better: bool,
    /// Local time, ISO 8601.
    pub created_at: String,
    /// The file.
    pub submission_path: String,

    /// Why `score` is null: for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Unrounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_raw: Option<f64>,
    /// The score on other scales.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scales: Option<Scales>,
}

/// A score on other scales; null where what it needs is missing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scales {
    /// [`crate::leaderboard::normalised`].
    pub normalised: Option<f64>,
    /// [`crate::leaderboard::Standings::human_rank`].
    pub human_rank: Option<f64>,
    /// [`crate::leaderboard::above_sample`], only where there is no board.
    pub above_sample: Option<f64>,
}

/// Sums over reports, with MLE-bench's keys, and what could not be graded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Aggregate {
    /// Reports.
    pub total_runs: usize,
    /// Of these, with a file.
    pub total_runs_with_submissions: usize,
    /// Of these, with a score.
    pub total_valid_submissions: usize,
    /// Medals of any kind.
    pub total_medals: usize,
    /// Gold medals.
    pub total_gold_medals: usize,
    /// Silver medals.
    pub total_silver_medals: usize,
    /// Bronze medals.
    pub total_bronze_medals: usize,
    /// Scores better than the median.
    pub total_above_median: usize,
    /// The reports in the order of the lines.
    pub competition_reports: Vec<Report>,
    /// Lines that have no report, because the competition can't be graded here; MLE-bench would stop at the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_graded: Vec<NotGraded>,
}

/// A line without a report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NotGraded {
    /// Line of the file, from 1.
    pub line: usize,
    /// What the line names, if it could be read.
    pub competition_id: Option<String>,
    /// What to do about it.
    pub reason: String,
}

impl Aggregate {
    /// Sums up.
    pub fn new(competition_reports: Vec<Report>, not_graded: Vec<NotGraded>) -> Self {
        let count = |is: fn(&Report) -> bool| competition_reports.iter().filter(|report| is(report)).count();
        Self {
            total_runs: competition_reports.len(),
            total_runs_with_submissions: count(|report| report.submission_exists),
            total_valid_submissions: count(|report| report.valid_submission),
            total_medals: count(|report| report.any_medal),
            total_gold_medals: count(|report| report.gold_medal),
            total_silver_medals: count(|report| report.silver_medal),
            total_bronze_medals: count(|report| report.bronze_medal),
            total_above_median: count(|report| report.above_median),
            competition_reports,
            not_graded,
        }
    }
}
