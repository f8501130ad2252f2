//! Finds leaks and mistakes in a prepared task. It reads the answers, so it is for the task's maker.
//!
//! One file per rule; each says what it looks for and what it can't see.

mod description;
mod labels_in_public;
mod material;
mod metric;
mod ordered_ids;
mod repeated_rows;
mod sample;
mod target_columns;

use std::{fmt, path::Path};

use crate::TaskError;
use material::Material;

/// Something that a task's maker should change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is broken.
    pub rule: Rule,
    /// File, and column or row if there is one.
    pub place: String,
    /// What is wrong there and what to change.
    pub change: String,
}

/// What a task must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// No test row has the features of a train row.
    RepeatedRows,
    /// No column tells the target, alone or in a sum.
    TargetColumns,
    /// Neither ids nor row order tell the target.
    OrderedIds,
    /// No public file has the labels of test rows or their hashes.
    LabelsInPublic,
    /// The sample submission is no better than the baseline.
    Sample,
    /// Metric, direction, reference scores and ladder agree.
    Metric,
    /// The description names every file and column.
    Description,
}

impl Rule {
    /// Every one.
    pub const ALL: [Rule; 7] = [
        Rule::RepeatedRows,
        Rule::TargetColumns,
        Rule::OrderedIds,
        Rule::LabelsInPublic,
        Rule::Sample,
        Rule::Metric,
        Rule::Description,
    ];

    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Rule::RepeatedRows => "repeated-rows",
            Rule::TargetColumns => "target-columns",
            Rule::OrderedIds => "ordered-ids",
            Rule::LabelsInPublic => "labels-in-public",
            Rule::Sample => "sample",
            Rule::Metric => "metric",
            Rule::Description => "description",
        }
    }

    fn check(self, task: &Material) -> Vec<Finding> {
        let found = match self {
            Rule::RepeatedRows => repeated_rows::check(task),
            Rule::TargetColumns => target_columns::check(task),
            Rule::OrderedIds => ordered_ids::check(task),
            Rule::LabelsInPublic => labels_in_public::check(task),
            Rule::Sample => sample::check(task),
            Rule::Metric => metric::check(task),
            Rule::Description => description::check(task),
        };
        let finding = |(place, change)| Finding {
            rule: self,
            place,
            change,
        };
        found.into_iter().map(finding).collect()
    }
}

/// `rule: place: what to change`.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.rule.as_str(), self.place, self.change)
    }
}

pub(crate) use repeated_rows::keys as feature_keys;

/// Place and change of a finding.
type Found = (String, String);

/// Everything that is wrong with the task directory `dir`, in the order of [`Rule::ALL`].
///
/// The error is for a directory that is no task: files that are missing or that can't be read as what they are.
pub fn lint(dir: &Path) -> Result<Vec<Finding>, TaskError> {
    let task = Material::load(dir)?;
    Ok(Rule::ALL.iter().flat_map(|rule| rule.check(&task)).collect())
}

#[cfg(test)]
mod tests;
