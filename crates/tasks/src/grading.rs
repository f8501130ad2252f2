//! The hidden side of a task: answers, and the score of a submission against them. For the grader alone.

use std::path::Path;

use journeyman_metrics::{MetricError, correlation, label, log_loss, ranking, regression, roc};

use crate::{
    TaskError,
    definition::{Definition, GUESSES, Metric, content, prepared, read_bytes},
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
        let Definition {
            metric,
            target_columns: targets,
            classes,
            ..
        } = &self.definition;
        let submission = Submission::read(csv, &self.definition.id_column, targets, &self.ids)?;
        let numbers = |column: usize| submission.numbers(column, &targets[column], metric.values());
        match &self.truth {
            Truth::Labels(truth) if *metric == Metric::MapAt5 => {
                let guesses = submission.guesses(0, &targets[0], classes, GUESSES)?;
                let truth: Vec<Vec<usize>> = truth.iter().map(|label| vec![*label]).collect();
                self.halves(|rows| ranking::map_at_k(&pick(&truth, rows), &pick(&guesses, rows), GUESSES))
            }
            Truth::Labels(truth) => {
                let labels = submission.labels(0, &targets[0], classes)?;
                self.halves(|rows| label::accuracy(&pick(truth, rows), &pick(&labels, rows)))
            }
            Truth::Binary(truth) => {
                let p = numbers(0)?;
                let value = if *metric == Metric::Auc {
                    roc::auc
                } else {
                    log_loss::log_loss
                };
                self.halves(|rows| value(&pick(truth, rows), &pick(&p, rows)))
            }
            Truth::Numbers(truth) => {
                let numbers = numbers(0)?;
                if *metric == Metric::Pearson {
                    return self.correlation(truth, &numbers);
                }
                let value = match metric {
                    Metric::Mae => regression::mae,
                    Metric::Rmsle => regression::rmsle,
                    _ => regression::rmse,
                };
                self.halves(|rows| value(&pick(truth, rows), &pick(&numbers, rows)))
            }
            Truth::Classes(truth) => {
                let p = probabilities(&submission, targets)?;
                let classes = targets.len();
                let pick_rows = |rows: &[usize]| -> Vec<f64> {
                    rows.iter()
                        .flat_map(|&row| p[row * classes..(row + 1) * classes].iter().copied())
                        .collect()
                };
                self.halves(|rows| log_loss::log_loss_multi(&pick(truth, rows), &pick_rows(rows), classes))
            }
            Truth::Columns(truth) => {
                let p = (0..targets.len()).map(numbers).collect::<Result<Vec<_>, _>>()?;
                let pick_rows =
                    |rows: &[usize]| -> Vec<Vec<f64>> { p.iter().map(|column| pick(column, rows)).collect() };
                let pick_truth = |rows: &[usize]| -> Vec<Vec<bool>> {
                    truth.iter().map(|column| pick(column, rows)).collect()
                };
                self.halves(|rows| roc::auc_mean(&pick_truth(rows), &pick_rows(rows)))
            }
        }
    }

    /// Pearson's correlation on both halves. Predictions that don't vary at all are invalid; ones that don't vary on
    /// one half have the correlation 0 there, or else a submission could find out which rows are in which half by
    /// being valid or not.
    fn correlation(&self, truth: &[f64], numbers: &[f64]) -> Result<Graded, Invalid> {
        if numbers.iter().all(|number| *number == numbers[0]) {
            return Err(Invalid::new(
                InvalidKind::Values,
                "all predictions are the same, and a constant has no correlation; write values that vary",
            ));
        }
        self.halves(
            |rows| match correlation::pearson(&pick(truth, rows), &pick(numbers, rows)) {
                Err(MetricError::Constant) => Ok(0.0),
                other => other,
            },
        )
    }

    /// A metric's value on the rows of either half.
    fn halves(&self, value: impl Fn(&[usize]) -> Result<f64, MetricError>) -> Result<Graded, Invalid> {
        let score = |rows: &[usize]| {
            value(rows).ok().filter(|score| score.is_finite()).ok_or_else(|| {
                Invalid::new(
                    InvalidKind::Values,
                    "the predictions are too large to be scored; check their scale",
                )
            })
        };
        Ok(Graded {
            reward_half: score(&self.reward_rows)?,
            report_half: score(&self.report_rows)?,
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
    fn parse(definition: &Definition, targets: &[&[String]]) -> Result<Self, String> {
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
            Metric::Auc => bits(name, targets[0]).map(Truth::Binary),
            Metric::LogLoss if targets.len() == 1 => bits(name, targets[0]).map(Truth::Binary),
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
                    Ok(number) if number.is_finite() && number >= definition.metric.values().0 => Ok(number),
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

fn bits(name: &str, column: &[String]) -> Result<Vec<bool>, String> {
    column
        .iter()
        .map(|text| match text.as_str() {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(format!("`{name}` has `{text}`; it must be 0 or 1")),
        })
        .collect()
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

fn pick<T: Clone>(values: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().map(|&row| values[row].clone()).collect()
}

#[cfg(test)]
mod tests;
