//! What is to be predicted, and whether the metric can score it.

use std::collections::BTreeMap;

use super::{NewError, Wish};
use crate::{definition::Metric, snippet::Table};

/// Most labels that a task has.
const MOST_CLASSES: usize = 1_000;

/// The target, by what a submission holds of it.
pub(super) enum Target {
    /// One probability for each target column, of rows that are 0 or 1.
    Probabilities,
    /// One probability for each class.
    ClassProbabilities(Vec<String>),
    /// One label, or up to five.
    Labels(Vec<String>),
    /// A number.
    Numbers(Vec<f64>),
}

impl Target {
    pub(super) fn read(wish: &Wish, table: &Table) -> Result<Self, NewError> {
        let several = wish.metric == Metric::AucMean;
        if several != (wish.targets.len() > 1) {
            return Err(NewError::Columns(format!(
                "the metric `{}` takes {} target column, but {} are named",
                wish.metric.as_str(),
                if several { "more than one" } else { "one" },
                wish.targets.len()
            )));
        }
        let mut target = Target::Probabilities;
        for name in &wish.targets {
            let unfit = |why: String| NewError::Metric {
                metric: wish.metric,
                column: name.clone(),
                why,
            };
            let values = table.column(name).unwrap_or_default();
            let gaps = values.iter().filter(|value| value.trim().is_empty()).count();
            if gaps > 0 {
                return Err(unfit(format!("{gaps} rows have no value in it; remove them")));
            }
            target = read(wish, values).map_err(unfit)?;
        }
        Ok(target)
    }

    /// The columns of a submission but the id.
    pub(super) fn columns(&self, wish: &Wish) -> Vec<String> {
        match self {
            Target::ClassProbabilities(classes) => classes.clone(),
            _ => wish.targets.clone(),
        }
    }

    /// The labels, where there are any.
    pub(super) fn classes(&self) -> &[String] {
        match self {
            Target::ClassProbabilities(classes) | Target::Labels(classes) => classes,
            _ => &[],
        }
    }

    /// For each row what the split keeps the shares of: the label, or the tenth of the sorted numbers.
    pub(super) fn strata(&self, wish: &Wish, table: &Table) -> Vec<String> {
        match self {
            Target::Numbers(numbers) => {
                let mut order: Vec<usize> = (0..numbers.len()).collect();
                order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
                let mut strata = vec![String::new(); numbers.len()];
                for (place, row) in order.into_iter().enumerate() {
                    strata[row] = (place * 10 / numbers.len()).to_string();
                }
                strata
            }
            _ => {
                let columns: Vec<&[String]> = wish
                    .targets
                    .iter()
                    .filter_map(|name| table.column(name))
                    .collect();
                let joined = |row: usize| {
                    columns
                        .iter()
                        .map(|column| column[row].as_str())
                        .collect::<Vec<_>>()
                };
                (0..table.rows()).map(|row| joined(row).join(",")).collect()
            }
        }
    }

    /// The fields of the sample submission for the `place`th test row: the best constant of the rows `train`.
    pub(super) fn sample(
        &self,
        wish: &Wish,
        table: &Table,
        train: &[usize],
    ) -> impl Fn(usize) -> Vec<String> {
        let fields = match self {
            Target::Probabilities => vec!["0.5".to_owned(); wish.targets.len()],
            Target::ClassProbabilities(classes) => {
                vec![(1.0 / classes.len() as f64).to_string(); classes.len()]
            }
            Target::Labels(_) => {
                let most = if wish.metric == Metric::MapAt5 { 5 } else { 1 };
                vec![most_frequent(wish, table, train, most).join(" ")]
            }
            Target::Numbers(numbers) => {
                let mut known: Vec<f64> = train.iter().map(|&row| numbers[row]).collect();
                known.sort_by(f64::total_cmp);
                let constant = if wish.metric == Metric::Rmse {
                    known.iter().sum::<f64>() / known.len() as f64
                } else {
                    known[known.len() / 2]
                };
                vec![constant.to_string()]
            }
        };
        // A constant has no correlation.
        let alternates = wish.metric == Metric::Pearson;
        move |place| match alternates {
            true => vec![(place % 2).to_string()],
            false => fields.clone(),
        }
    }

    /// The fields of the answers for a row.
    pub(super) fn answer(&self, wish: &Wish, table: &Table, row: usize) -> Vec<String> {
        let field = |name: &String| table.column(name).map(|column| column[row].clone());
        match self {
            Target::ClassProbabilities(classes) => {
                let label = field(&wish.targets[0]);
                let is_one = |class: &String| u8::from(Some(class) == label.as_ref());
                classes.iter().map(|class| is_one(class).to_string()).collect()
            }
            _ => wish.targets.iter().filter_map(field).collect(),
        }
    }

    pub(super) fn submission_text(&self, wish: &Wish) -> String {
        let named: Vec<String> = self
            .columns(wish)
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        let values = match self {
            Target::Probabilities => "Each value is a probability from 0 to 1.",
            Target::ClassProbabilities(_) => {
                "Each value is the probability of that class, from 0 to 1, and each row sums to 1."
            }
            Target::Labels(_) if wish.metric == Metric::MapAt5 => {
                "The value is one to five labels, the likeliest first, with blanks between them."
            }
            Target::Labels(_) => "The value is a label.",
            Target::Numbers(_) => "The value is a number.",
        };
        format!(
            "Write `submission.csv` with the columns `{}` and {}, one row for each row of `data/test.csv`. {values}",
            wish.id_column(),
            named.join(", ")
        )
    }
}

/// One target column; the error says what the metric wants.
fn read(wish: &Wish, values: &[String]) -> Result<Target, String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    if counts.len() < 2 {
        return Err("all its rows are the same, so there is nothing to predict".to_owned());
    }
    let shown: Vec<String> = counts.keys().take(4).map(|value| format!("`{value}`")).collect();
    let shown = shown.join(", ");
    let is_binary = counts.keys().copied().eq(["0", "1"]);
    match wish.metric {
        Metric::Auc | Metric::AucMean if !is_binary => Err(format!(
            "it needs 0 and 1, but holds {} values, such as {shown}; write 1 for what is to be found",
            counts.len()
        )),
        Metric::Auc | Metric::AucMean => Ok(Target::Probabilities),
        Metric::LogLoss if is_binary => Ok(Target::Probabilities),
        Metric::LogLoss | Metric::Accuracy | Metric::MapAt5 => classes(wish, values, &counts, &shown),
        Metric::Pearson | Metric::Rmse | Metric::Rmsle | Metric::Mae => {
            let lowest = wish.metric.values().0;
            let numbers = values.iter().map(|value| {
                value
                    .parse::<f64>()
                    .ok()
                    .filter(|number| number.is_finite() && *number >= lowest)
                    .ok_or_else(|| {
                        let wanted = if lowest == 0.0 {
                            "numbers from 0 on"
                        } else {
                            "numbers"
                        };
                        format!("it needs {wanted}, but holds `{value}`")
                    })
            });
            numbers.collect::<Result<_, _>>().map(Target::Numbers)
        }
    }
}

fn classes(
    wish: &Wish,
    values: &[String],
    counts: &BTreeMap<&str, usize>,
    shown: &str,
) -> Result<Target, String> {
    if counts.len() > MOST_CLASSES || counts.len() * 4 > values.len() {
        return Err(format!(
            "it needs labels, but nearly every row has a value of its own ({} in {} rows, such as {shown})",
            counts.len(),
            values.len()
        ));
    }
    let classes: Vec<String> = counts.keys().map(|class| (*class).to_owned()).collect();
    if wish.metric == Metric::LogLoss {
        if classes.iter().any(|class| class == wish.id_column()) {
            return Err(format!(
                "a label is `{}`, as is the id column, and a submission has a column for each",
                wish.id_column()
            ));
        }
        return Ok(Target::ClassProbabilities(classes));
    }
    if wish.metric == Metric::MapAt5
        && let Some(class) = classes.iter().find(|class| class.contains(char::is_whitespace))
    {
        return Err(format!(
            "the label `{class}` has a blank in it, and blanks stand between guesses"
        ));
    }
    Ok(Target::Labels(classes))
}

/// The `most` labels with the most rows among `train`.
fn most_frequent(wish: &Wish, table: &Table, train: &[usize], most: usize) -> Vec<String> {
    let values = table.column(&wish.targets[0]).unwrap_or_default();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for &row in train {
        *counts.entry(&values[row]).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
        .into_iter()
        .take(most)
        .map(|(class, _)| class.to_owned())
        .collect()
}
