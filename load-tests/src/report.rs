//! The table of a scenario: what we reach, what the best peer reaches, and what must hold.

use std::fmt;

use serde::Serialize;

/// All rows of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Name of the scenario.
    pub scenario: &'static str,
    /// What was measured, with its settings, for people.
    pub title: String,
    /// The rows, in order.
    pub rows: Vec<Row>,
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What was measured, with its unit.
    pub name: String,
    /// Our value.
    pub ours: f64,
    /// The best peer's value; none when no peer was measured.
    pub best_peer: Option<f64>,
    /// `ours / best_peer`.
    pub ratio: Option<f64>,
    /// The condition, for people; none when the row only informs.
    pub must: Option<String>,
    /// Whether the condition holds; true without one.
    pub holds: bool,
}

/// A condition on a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Must {
    /// At least this many times the best peer; without a peer there is no condition.
    RatioAtLeast(f64),
    /// At most this many times the best peer; without a peer there is no condition.
    RatioAtMost(f64),
    /// At least this value.
    AtLeast(f64),
    /// At most this value.
    AtMost(f64),
}

impl Row {
    /// A row; `peers` may be empty. The best peer is the one with the largest value.
    pub fn new(name: impl Into<String>, ours: f64, peers: &[f64], must: Option<Must>) -> Self {
        let best_peer = peers.iter().copied().reduce(f64::max);
        let ratio = best_peer.map(|peer| ours / peer);
        let (must, holds) = match (must, ratio) {
            (Some(Must::RatioAtLeast(least)), Some(ratio)) => {
                (Some(format!(">= {least:.2} x")), ratio >= least)
            }
            (Some(Must::RatioAtMost(most)), Some(ratio)) => (Some(format!("<= {most:.2} x")), ratio <= most),
            (Some(Must::AtLeast(least)), _) => (Some(format!(">= {least}")), ours >= least),
            (Some(Must::AtMost(most)), _) => (Some(format!("<= {most}")), ours <= most),
            (Some(Must::RatioAtLeast(_) | Must::RatioAtMost(_)), None) | (None, _) => (None, true),
        };
        Self {
            name: name.into(),
            ours,
            best_peer,
            ratio,
            must,
            holds,
        }
    }
}

/// The middle value, of an even number the mean of the middle two; `values` must not be empty.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        (values[middle - 1] + values[middle]) / 2.0
    }
}

impl Report {
    /// Every row's condition holds.
    pub fn holds(&self) -> bool {
        self.rows.iter().all(|row| row.holds)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self
            .rows
            .iter()
            .map(|row| row.name.chars().count())
            .max()
            .unwrap_or(0)
            .max(4);
        writeln!(f, "{}: {}", self.scenario, self.title)?;
        writeln!(
            f,
            "{:width$}  {:>9}  {:>9}  {:>6}  must",
            "name", "ours", "best peer", "ratio"
        )?;
        for row in &self.rows {
            let number = |value: Option<f64>, places: usize| match value {
                Some(value) => format!("{value:.places$}"),
                None => "-".into(),
            };
            let must = match (&row.must, row.holds) {
                (None, _) => "-".into(),
                (Some(must), true) => format!("{must}  ok"),
                (Some(must), false) => format!("{must}  NOT MET"),
            };
            let (ours, peer, ratio) = (
                number(Some(row.ours), 1),
                number(row.best_peer, 1),
                number(row.ratio, 2),
            );
            writeln!(f, "{:width$}  {ours:>9}  {peer:>9}  {ratio:>6}  {must}", row.name)?;
        }
        Ok(())
    }
}
