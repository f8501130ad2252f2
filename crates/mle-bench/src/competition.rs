//! Facts about the competitions of MLE-bench, from `data/competitions.tsv`.

use std::sync::LazyLock;

use crate::leaderboard::Thresholds;

/// One competition.
#[derive(Clone, Debug, PartialEq)]
pub struct Competition {
    /// Its name in paths and reports.
    pub id: String,
    /// `low`, `medium`, `high` or `dev`.
    pub split: String,
    /// Our name of its metric.
    pub metric: String,
    /// Whether a lower score is better.
    pub lower_is_better: bool,
    /// The columns that name a row.
    pub id_columns: Vec<String>,
    /// Whether a submission may have rows beyond those that are graded.
    pub allows_extra_rows: bool,
    /// Path of the answers below `prepared/`.
    pub answers: String,
    /// File name of the sample submission, in `prepared/public/`.
    pub sample_submission: String,
    /// Medal thresholds of the real leaderboard.
    pub thresholds: Thresholds,
    /// Best and worst score of the private leaderboard, where known.
    pub range: Option<(f64, f64)>,
    /// What is known to be wrong with it; empty if nothing is.
    pub known_issue: String,
}

static TABLE: LazyLock<Vec<Competition>> = LazyLock::new(|| {
    // The table is part of the program, and a test reads all of it.
    let rows = include_str!("../data/competitions.tsv").lines();
    let mut rows = rows.map(|line| line.split('\t').collect::<Vec<_>>());
    let header = rows.next().unwrap_or_default();
    rows.map(|fields| Competition::parse(&header, &fields)).collect()
});

/// All of them, in the order of the table.
pub fn all() -> &'static [Competition] {
    &TABLE
}

/// The one with that id.
pub fn find(id: &str) -> Option<&'static Competition> {
    all().iter().find(|competition| competition.id == id)
}

impl Competition {
    fn parse(header: &[&str], fields: &[&str]) -> Self {
        let text = |name: &str| {
            let place = header.iter().position(|column| *column == name);
            place
                .and_then(|place| fields.get(place))
                .copied()
                .unwrap_or_default()
        };
        let number = |name: &str| text(name).parse().unwrap_or(f64::NAN);
        let file_name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let range = (number("lb_best_dojo"), number("lb_worst_dojo"));
        let first_column = text("submission_columns")
            .split([',', ' '])
            .next()
            .unwrap_or_default();
        let mut id_columns = vec![first_column.to_owned()];
        if first_column == "tripId" {
            id_columns.push("UnixTimeMillis".to_owned());
        }
        Self {
            id: text("id").to_owned(),
            split: text("split").to_owned(),
            metric: text("metric_key").to_owned(),
            lower_is_better: text("lower_better") == "true",
            id_columns,
            allows_extra_rows: text("id_check") == "superset",
            answers: text("answers_file").to_owned(),
            sample_submission: file_name(text("sample_submission_file")),
            thresholds: Thresholds {
                gold: number("gold"),
                silver: number("silver"),
                bronze: number("bronze"),
                median: number("median"),
            },
            range: (!range.0.is_nan() && !range.1.is_nan()).then_some(range),
            known_issue: text("known_issue").to_owned(),
        }
    }
}
