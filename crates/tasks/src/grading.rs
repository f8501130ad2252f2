//! The hidden side of a task: answers, and the score of a submission against them. For the grader alone.

use std::{borrow::Cow, path::Path};

use journeyman_metrics::{MetricError, correlation, label, log_loss, ranking, regression, roc};

use crate::{
    TaskError,
    definition::{Definition, GUESSES, Metric, content, prepared, read_bytes},
    predictions::{LARGEST, Predictions},
    submission::{Ids, Invalid, InvalidKind, Patience, columns, label_index},
};

/// A task with its answers.
#[derive(Clone)]
pub struct GradingTask {
    definition: Definition,
    ids: Ids,
    truth: Truth,
    /// Rows of each half, in the order of the ids.
    reward_rows: Vec<usize>,
    report_rows: Vec<usize>,
}

/// The scores of a valid submission, in the task's metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Graded {
    /// On the half of the test rows that training sees.
    pub reward_half: f64,
    /// On the half that only final reports see.
    pub report_half: f64,
}

#[derive(Clone)]
enum Truth {
    /// Numbers into `definition.classes`.
    Labels(Vec<usize>),
    Binary(Vec<bool>),
    Numbers(Vec<f64>),
    /// Numbers into `definition.target_columns`.
    Classes(Vec<usize>),
    /// One per target column.
    Columns(Vec<Vec<bool>>),
}

/// Shows no answers.
impl std::fmt::Debug for GradingTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GradingTask")
            .field("id", &self.definition.id)
            .field("rows", &self.ids.len())
            .finish()
    }
}

impl GradingTask {
    /// Loads the task directory `dir`, `<tasks>/<id>`, with `prepared/private`. The sample submission must be valid.
    pub fn load(dir: &Path) -> Result<Self, TaskError> {
        let definition = Definition::load(dir)?;
        let private = prepared(dir).join("private");
        let answers_path = private.join("answers.csv");
        let (ids, truth) = read_answers(&definition, &read_bytes(dir, &answers_path)?)
            .map_err(|problem| content(dir, &answers_path, problem))?;
        let halves_path = private.join("halves.csv");
        let (reward_rows, report_rows) = read_halves(&definition, &read_bytes(dir, &halves_path)?, &ids)
            .map_err(|problem| content(dir, &halves_path, problem))?;

        let task = Self {
            definition,
            ids,
            truth,
            reward_rows,
            report_rows,
        };
        if let Some(problem) = task.undefined_half() {
            return Err(content(dir, &halves_path, problem));
        }
        let sample_path = prepared(dir).join("public").join("sample_submission.csv");
        task.grade(&read_bytes(dir, &sample_path)?)
            .map_err(|invalid| content(dir, &sample_path, format!("is not a valid submission: {invalid}")))?;
        Ok(task)
    }

    /// Metric, columns, reference scores, limits, source.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Scores a submission on both halves. What makes it invalid does not depend on the answers or on the halves.
    pub fn grade(&self, csv: &[u8]) -> Result<Graded, Invalid> {
        self.grade_within(csv, Patience::ENDLESS)
    }

    /// [`GradingTask::grade`], given up when `patience` ends.
    pub fn grade_within(&self, csv: &[u8], patience: Patience) -> Result<Graded, Invalid> {
        let predictions = Predictions::read(&self.definition, &self.ids, csv, patience)?;
        let reward_half = self.score(&predictions, &self.reward_rows)?;
        patience.check()?;
        let report_half = self.score(&predictions, &self.report_rows)?;
        Ok(Graded {
            reward_half,
            report_half,
        })
    }

    /// Whether a submission is well formed, from public facts alone: the error is the one that
    /// [`GradingTask::grade_within`] would give.
    pub fn check_within(&self, csv: &[u8], patience: Patience) -> Result<(), Invalid> {
        Predictions::read(&self.definition, &self.ids, csv, patience).map(drop)
    }

    /// Most memory that grading a submission of `bytes` bytes takes, bytes: three times the text (as it is received, as
    /// it is kept, and what the allocator leaves unused), and what is kept per row and per value.
    pub fn memory_bytes(&self, bytes: u64) -> u64 {
        const FIXED: u64 = 1 << 20;
        const PER_ROW: u64 = 256;
        const PER_VALUE: u64 = 64;
        let columns = self.definition.target_columns.len() as u64;
        3 * bytes + FIXED + self.ids.len() as u64 * (PER_ROW + PER_VALUE * columns)
    }

    /// The metric's value on some of the rows.
    fn score(&self, predictions: &Predictions, rows: &[usize]) -> Result<f64, Invalid> {
        let metric = self.definition.metric;
        let value = match (&self.truth, predictions) {
            (Truth::Labels(truth), Predictions::Guesses(guesses)) => {
                let truth: Vec<Vec<usize>> = rows.iter().map(|&row| vec![truth[row]]).collect();
                ranking::map_at_k(&truth, &pick(guesses, rows), GUESSES)
            }
            (Truth::Labels(truth), Predictions::Labels(labels)) => {
                label::accuracy(&pick(truth, rows), &pick(labels, rows))
            }
            (Truth::Binary(truth), Predictions::Numbers(p)) => {
                let value = if metric == Metric::Auc {
                    roc::auc
                } else {
                    log_loss::log_loss
                };
                value(&pick(truth, rows), &pick(p, rows))
            }
            (Truth::Numbers(truth), Predictions::Numbers(numbers)) => {
                let value = match metric {
                    Metric::Pearson => correlation_or_zero,
                    Metric::Mae => regression::mae,
                    Metric::Rmsle => regression::rmsle,
                    _ => regression::rmse,
                };
                value(&pick(truth, rows), &pick(numbers, rows))
            }
            (Truth::Classes(truth), Predictions::Classes(p)) => {
                let classes = self.definition.target_columns.len();
                let p: Vec<f64> = rows
                    .iter()
                    .flat_map(|&row| p[row * classes..(row + 1) * classes].iter().copied())
                    .collect();
                log_loss::log_loss_multi(&pick(truth, rows), &p, classes)
            }
            (Truth::Columns(truth), Predictions::Columns(p)) => {
                roc::auc_mean(&pick_columns(truth, rows), &pick_columns(p, rows))
            }
            // `Truth::parse` and `Predictions::read` go by the same metric and columns.
            _ => Err(MetricError::Empty),
        };
        value.ok().filter(|score| score.is_finite()).ok_or_else(|| {
            Invalid::new(
                InvalidKind::Values,
                "the predictions are too large to be scored; check their scale",
            )
        })
    }

    /// Why the metric has no value on one of the halves, whatever is predicted.
    fn undefined_half(&self) -> Option<String> {
        for (half, rows) in [("reward", &self.reward_rows), ("report", &self.report_rows)] {
            let varies = |truth: &[bool]| rows.iter().any(|&row| truth[row] != truth[rows[0]]);
            let defined = match &self.truth {
                _ if rows.is_empty() => false,
                Truth::Binary(truth) if self.definition.metric == Metric::Auc => varies(truth),
                Truth::Columns(truth) => truth.iter().all(|column| varies(column)),
                Truth::Numbers(truth) if self.definition.metric == Metric::Pearson => {
                    rows.iter().any(|&row| truth[row] != truth[rows[0]])
                }
                _ => true,
            };
            if !defined {
                return Some(format!(
                    "the half `{half}` has {} rows, and the metric `{}` has no value on them: it needs rows whose \
                     answers differ",
                    rows.len(),
                    self.definition.metric.as_str()
                ));
            }
        }
        None
    }
}

impl Truth {
    fn parse(definition: &Definition, targets: &[Vec<Cow<'_, str>>]) -> Result<Self, String> {
        let name = &definition.target_columns[0];
        match definition.metric {
            Metric::Accuracy | Metric::MapAt5 => targets[0]
                .iter()
                .map(|text| {
                    label_index(text, &definition.classes)
                        .ok_or_else(|| format!("`{name}` has `{text}`, which classes lacks"))
                })
                .collect::<Result<_, _>>()
                .map(Truth::Labels),
            Metric::Auc => bits(name, &targets[0]).map(Truth::Binary),
            Metric::LogLoss if targets.len() == 1 => bits(name, &targets[0]).map(Truth::Binary),
            Metric::AucMean => definition
                .target_columns
                .iter()
                .zip(targets)
                .map(|(name, column)| bits(name, column))
                .collect::<Result<_, _>>()
                .map(Truth::Columns),
            Metric::Rmse | Metric::Rmsle | Metric::Mae | Metric::Pearson => targets[0]
                .iter()
                .map(|text| match text.parse::<f64>() {
                    Ok(number) if number.abs() <= LARGEST && number >= definition.metric.values().0 => {
                        Ok(number)
                    }
                    _ => Err(format!(
                        "`{name}` has `{text}`, which the metric `{}` can't score",
                        definition.metric.as_str()
                    )),
                })
                .collect::<Result<_, _>>()
                .map(Truth::Numbers),
            Metric::LogLoss => (0..targets[0].len())
                .map(|row| {
                    let mut ones = (0..targets.len()).filter(|&class| targets[class][row] == "1");
                    match (ones.next(), ones.next()) {
                        (Some(class), None) => Ok(class),
                        _ => Err(format!(
                            "data row {} must have `1` in exactly one target column",
                            row + 1
                        )),
                    }
                })
                .collect::<Result<_, _>>()
                .map(Truth::Classes),
        }
    }
}

/// Ids and true values.
fn read_answers(definition: &Definition, csv: &[u8]) -> Result<(Ids, Truth), String> {
    let names: Vec<&str> = definition.submission_columns().collect();
    let columns = columns(csv, &names)?;
    let ids = Ids::new(&columns[0]).map_err(|id| format!("has the id `{id}` twice"))?;
    Ok((ids, Truth::parse(definition, &columns[1..])?))
}

fn bits(name: &str, column: &[Cow<'_, str>]) -> Result<Vec<bool>, String> {
    column
        .iter()
        .map(|text| match text.as_ref() {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(format!("`{name}` has `{text}`; it must be 0 or 1")),
        })
        .collect()
}

/// Rows of the reward half and of the report half.
fn read_halves(definition: &Definition, csv: &[u8], ids: &Ids) -> Result<(Vec<usize>, Vec<usize>), String> {
    let columns = columns(csv, &[&definition.id_column, "half"])?;
    let mut is_reward: Vec<Option<bool>> = vec![None; ids.len()];
    for (name, word) in columns[0].iter().zip(&columns[1]) {
        let row = ids
            .row(name)
            .ok_or_else(|| format!("has the id `{name}`, which answers.csv lacks"))?;
        is_reward[row] = match word.as_ref() {
            "reward" => Some(true),
            "report" => Some(false),
            _ => return Err(format!("half is `{word}`; it must be reward or report")),
        };
    }
    if let Some(row) = is_reward.iter().position(Option::is_none) {
        return Err(format!("lacks the id of data row {} of answers.csv", row + 1));
    }
    let rows = |wanted: bool| -> Vec<usize> {
        (0..ids.len())
            .filter(|&row| is_reward[row] == Some(wanted))
            .collect()
    };
    Ok((rows(true), rows(false)))
}

/// Pearson's correlation. Predictions that don't vary on one half have the correlation 0 there, or else a submission
/// could find out which rows are in which half by being valid or not.
fn correlation_or_zero(truth: &[f64], numbers: &[f64]) -> Result<f64, MetricError> {
    match correlation::pearson(truth, numbers) {
        Err(MetricError::Constant) => Ok(0.0),
        Ok(value) if !value.is_finite() => Ok(0.0),
        other => other,
    }
}

fn pick_columns<T: Clone>(columns: &[Vec<T>], rows: &[usize]) -> Vec<Vec<T>> {
    columns.iter().map(|column| pick(column, rows)).collect()
}

fn pick<T: Clone>(values: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().map(|&row| values[row].clone()).collect()
}

#[cfg(test)]
mod tests;
