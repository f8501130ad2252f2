//! The hidden side of a task: answers, and the score of a submission against them. For the grader alone.

use std::path::Path;

use journeyman_metrics::{MetricError, label, log_loss, regression, roc};

use crate::{
    TaskError,
    definition::{Definition, Metric, content, prepared, read_bytes},
    snippet::Table,
    submission::{Ids, Invalid, InvalidKind, Submission, label_index},
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
        let table = Table::read(&read_bytes(dir, &answers_path)?)
            .map_err(|problem| content(dir, &answers_path, problem))?;
        let (ids, truth) =
            read_answers(&definition, &table).map_err(|problem| content(dir, &answers_path, problem))?;

        let halves_path = private.join("halves.csv");
        let halves = Table::read(&read_bytes(dir, &halves_path)?)
            .map_err(|problem| content(dir, &halves_path, problem))?;
        let (reward_rows, report_rows) =
            read_halves(&definition, &halves, &ids).map_err(|problem| content(dir, &halves_path, problem))?;

        let task = Self {
            definition,
            ids,
            truth,
            reward_rows,
            report_rows,
        };
        let sample_path = prepared(dir).join("public").join("sample_submission.csv");
        task.grade(&read_bytes(dir, &sample_path)?)
            .map_err(|invalid| content(dir, &sample_path, format!("is not a valid submission: {invalid}")))?;
        Ok(task)
    }

    /// Metric, columns, reference scores, limits, source.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Scores a submission on both halves. What makes it invalid does not depend on the answers.
    pub fn grade(&self, csv: &[u8]) -> Result<Graded, Invalid> {
        let targets = &self.definition.target_columns;
        let submission = Submission::read(csv, &self.definition.id_column, targets, &self.ids)?;
        let score = |value: Result<f64, MetricError>| {
            value.ok().filter(|score| score.is_finite()).ok_or_else(|| {
                Invalid::new(
                    InvalidKind::Values,
                    "the predictions are too large to be scored; check their scale",
                )
            })
        };
        let halves = |value: &dyn Fn(&[usize]) -> Result<f64, MetricError>| -> Result<Graded, Invalid> {
            Ok(Graded {
                reward_half: score(value(&self.reward_rows))?,
                report_half: score(value(&self.report_rows))?,
            })
        };
        match (&self.truth, self.definition.metric) {
            (Truth::Labels(truth), _) => {
                let labels = submission.labels(0, &targets[0], &self.definition.classes)?;
                halves(&|rows| label::accuracy(&pick(truth, rows), &pick(&labels, rows)))
            }
            (Truth::Binary(truth), kind) => {
                let p = submission.numbers(0, &targets[0], (0.0, 1.0))?;
                let value = if kind == Metric::Auc {
                    roc::auc
                } else {
                    log_loss::log_loss
                };
                halves(&|rows| value(&pick(truth, rows), &pick(&p, rows)))
            }
            (Truth::Numbers(truth), _) => {
                let numbers = submission.numbers(0, &targets[0], (f64::NEG_INFINITY, f64::INFINITY))?;
                halves(&|rows| regression::rmse(&pick(truth, rows), &pick(&numbers, rows)))
            }
            (Truth::Classes(truth), _) => {
                let p = probabilities(&submission, targets)?;
                let classes = targets.len();
                let pick_rows = |rows: &[usize]| -> Vec<f64> {
                    rows.iter()
                        .flat_map(|&row| p[row * classes..(row + 1) * classes].iter().copied())
                        .collect()
                };
                halves(&|rows| log_loss::log_loss_multi(&pick(truth, rows), &pick_rows(rows), classes))
            }
        }
    }
}

impl Truth {
    fn parse(definition: &Definition, targets: &[&[String]]) -> Result<Self, String> {
        let name = &definition.target_columns[0];
        match definition.metric {
            Metric::Accuracy => targets[0]
                .iter()
                .map(|text| {
                    label_index(text, &definition.classes)
                        .ok_or_else(|| format!("`{name}` has `{text}`, which classes lacks"))
                })
                .collect::<Result<_, _>>()
                .map(Truth::Labels),
            Metric::Auc => targets[0]
                .iter()
                .map(|text| bit(name, text))
                .collect::<Result<_, _>>()
                .map(Truth::Binary),
            Metric::LogLoss if targets.len() == 1 => targets[0]
                .iter()
                .map(|text| bit(name, text))
                .collect::<Result<_, _>>()
                .map(Truth::Binary),
            Metric::Rmse => targets[0]
                .iter()
                .map(|text| match text.parse::<f64>() {
                    Ok(number) if number.is_finite() => Ok(number),
                    _ => Err(format!("`{name}` has `{text}`, which is not a finite number")),
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
fn read_answers(definition: &Definition, answers: &Table) -> Result<(Ids, Truth), String> {
    let column = |name: &String| {
        answers
            .column(name)
            .ok_or_else(|| format!("has no column `{name}`"))
    };
    let names = column(&definition.id_column)?.to_vec();
    let ids = Ids::new(names).map_err(|id| format!("has the id `{id}` twice"))?;
    let targets = definition
        .target_columns
        .iter()
        .map(column)
        .collect::<Result<Vec<_>, _>>()?;
    Ok((ids, Truth::parse(definition, &targets)?))
}

fn bit(name: &str, text: &str) -> Result<bool, String> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(format!("`{name}` has `{text}`; it must be 0 or 1")),
    }
}

/// Rows of the reward half and of the report half.
fn read_halves(
    definition: &Definition,
    halves: &Table,
    ids: &Ids,
) -> Result<(Vec<usize>, Vec<usize>), String> {
    let column = |name: &str| {
        halves
            .column(name)
            .ok_or_else(|| format!("has no column `{name}`"))
    };
    let (names, words) = (column(&definition.id_column)?, column("half")?);
    let mut is_reward: Vec<Option<bool>> = vec![None; ids.len()];
    for (name, word) in names.iter().zip(words) {
        let row = ids
            .row(name)
            .ok_or_else(|| format!("has the id `{name}`, which answers.csv lacks"))?;
        is_reward[row] = match word.as_str() {
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

/// Probabilities of a multi-class submission, `[rows, classes]` row by row; each row sums to 1 as closely as
/// MLE-bench asks (1.1e-5).
fn probabilities(submission: &Submission, targets: &[String]) -> Result<Vec<f64>, Invalid> {
    let columns = targets
        .iter()
        .enumerate()
        .map(|(column, name)| submission.numbers(column, name, (0.0, 1.0)))
        .collect::<Result<Vec<_>, _>>()?;
    let mut p = Vec::with_capacity(columns.len() * submission.lines.len());
    for (row, line) in submission.lines.iter().enumerate() {
        let sum: f64 = columns.iter().map(|column| column[row]).sum();
        if (sum - 1.0).abs() > 1e-6 + 1e-5 {
            return Err(Invalid::new(
                InvalidKind::Values,
                format!("line {line}: the probabilities sum to {sum}; divide each row by its sum"),
            ));
        }
        p.extend(columns.iter().map(|column| column[row]));
    }
    Ok(p)
}

fn pick<T: Copy>(values: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().map(|&row| values[row]).collect()
}

#[cfg(test)]
mod tests;
