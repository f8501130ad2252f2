//! Makes a task out of a user's own table: split, hidden halves, sample submission, description and starter.

mod split;
mod starter;
mod target;

use std::{
    fs,
    path::{Path, PathBuf},
};

use journeyman_schemas::ids::{ContentHash, TaskId};

use crate::{
    TaskError,
    definition::{Definition, Metric, Reference, Source, TaskLimits},
    grading::GradingTask,
    public::PublicTask,
    recipe::{self, PrepareError},
    snippet::{self, Table},
};
use split::Split;
use target::Target;

/// Fewest rows of a table that can be split into train and two halves of a test.
pub const FEWEST_ROWS: usize = 40;

/// What the task is to be.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Its name.
    pub id: TaskId,
    /// Columns to predict: one, or several for [`Metric::AucMean`].
    pub targets: Vec<String>,
    /// How submissions are scored.
    pub metric: Metric,
    /// The column that names a row. None: rows are shuffled and numbered in a column `id`.
    pub id_column: Option<String>,
}

/// Why there is no task.
#[derive(Debug, thiserror::Error)]
pub enum NewError {
    /// There is a task of that name.
    #[error("`{}` is there already; choose another name or remove it", .0.display())]
    Exists(PathBuf),
    /// A built-in task has that name.
    #[error("`{0}` is a built-in task; choose another name")]
    BuiltIn(TaskId),
    /// The file is no table.
    #[error("the table can't be read: {0}")]
    Table(String),
    /// A column that was named is not there.
    #[error("there is no column `{name}` for the {what}; there are {known}")]
    NoColumn {
        /// What it was named for.
        what: &'static str,
        /// The column.
        name: String,
        /// The columns that there are.
        known: String,
    },
    /// Columns that don't go together.
    #[error("{0}")]
    Columns(String),
    /// Too few rows.
    #[error("the table has {rows} rows, but needs {FEWEST_ROWS} for a train part and two halves of a test")]
    Rows {
        /// How many there are.
        rows: usize,
    },
    /// The metric does not fit the target.
    #[error("the metric `{}` does not fit the column `{column}`: {why}", metric.as_str())]
    Metric {
        /// The metric.
        metric: Metric,
        /// The target.
        column: String,
        /// What the metric wants.
        why: String,
    },
    /// A file can't be written.
    #[error(transparent)]
    Write(#[from] PrepareError),
    /// What came out can't be used.
    #[error("the table makes a task that does not load")]
    Result(#[source] TaskError),
}

/// Makes the task directory `<tasks>/<id>` out of the CSV file `csv`, which is called `name`.
///
/// A quarter of the rows is the test, stratified by the target; rows with the same features stay together. The
/// sample submission is the best constant, and its score the task's `reference.worst`; `reference.best` is a perfect
/// score, for want of a known one.
pub fn create(wish: &Wish, csv: &[u8], name: &str, tasks: &Path) -> Result<PathBuf, NewError> {
    let dir = tasks.join(wish.id.as_str());
    if recipe::RECIPES.iter().any(|recipe| recipe.id == wish.id.as_str()) {
        return Err(NewError::BuiltIn(wish.id.clone()));
    }
    if dir.exists() {
        return Err(NewError::Exists(dir));
    }
    let table = Table::read(csv.strip_prefix(b"\xef\xbb\xbf").unwrap_or(csv)).map_err(NewError::Table)?;
    check_columns(wish, &table)?;
    if table.rows() < FEWEST_ROWS {
        return Err(NewError::Rows { rows: table.rows() });
    }
    let target = Target::read(wish, &table)?;
    let split = Split::of(wish, &table, &target)?;

    recipe::create_dir(tasks)?;
    let scratch = tempfile::Builder::new()
        .prefix(".new-")
        .tempdir_in(tasks)
        .map_err(|source| PrepareError::File {
            what: "make a directory in",
            path: tasks.to_owned(),
            source,
        })?;
    let made = scratch.path().join("prepared");
    for folder in ["public", "private"] {
        recipe::create_dir(&made.join(folder))?;
    }
    split.write(&made, &table, &target, wish)?;
    let mut definition = definition(wish, csv, name, &target);
    recipe::write(
        &made.join("public/description.md"),
        &description(wish, &split, &table, &target),
    )?;
    recipe::write(&made.join("starter.py"), &starter::text(wish, &table, &target))?;

    // The sample's score is known once the task can grade it.
    let toml = |definition: &Definition| -> Result<(), PrepareError> {
        // Strings, numbers and lists of them always serialise.
        let text = toml::to_string_pretty(definition).unwrap_or_default();
        recipe::write(&made.join("task.toml"), &text)
    };
    toml(&definition)?;
    let task = GradingTask::load(scratch.path()).map_err(NewError::Result)?;
    let sample = fs::read(made.join("public/sample_submission.csv")).unwrap_or_default();
    if let Ok(graded) = task.grade(&sample) {
        definition.reference.worst = (graded.reward_half * 1e5).round() / 1e5;
    }
    toml(&definition)?;
    PublicTask::load(scratch.path()).map_err(NewError::Result)?;
    recipe::seal(&made, ContentHash::of(csv))?;
    fs::create_dir(&dir)
        .and_then(|()| fs::rename(&made, dir.join("prepared")))
        .map_err(|source| PrepareError::File {
            what: "make",
            path: dir.clone(),
            source,
        })?;
    Ok(dir)
}

fn check_columns(wish: &Wish, table: &Table) -> Result<(), NewError> {
    let known = || {
        let names: Vec<String> = table.header().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let named = wish.targets.iter().map(|name| ("target", name));
    for (what, name) in named.chain(wish.id_column.iter().map(|name| ("id", name))) {
        if table.column(name).is_none() {
            return Err(NewError::NoColumn {
                what,
                name: name.clone(),
                known: known(),
            });
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    if let Some(name) = table.header().find(|name| !seen.insert(*name) || name.is_empty()) {
        return Err(NewError::Columns(format!(
            "the column `{name}` is there twice or has no name; give each column a name of its own"
        )));
    }
    match &wish.id_column {
        Some(id) if wish.targets.contains(id) => Err(NewError::Columns(format!(
            "the column `{id}` can't be both id and target"
        ))),
        None if table.column("id").is_some() => Err(NewError::Columns(
            "there is a column `id`: name it with --id if it names the rows, or rename it".to_owned(),
        )),
        _ if table.header().count() < wish.targets.len() + 1 + usize::from(wish.id_column.is_some()) => Err(
            NewError::Columns("there is no column to predict from besides id and target".to_owned()),
        ),
        _ => Ok(()),
    }
}

fn definition(wish: &Wish, csv: &[u8], name: &str, target: &Target) -> Definition {
    let lower_is_better = wish.metric.lower_is_better();
    // Worse than any score, until the sample's is known.
    let (worst, best) = if lower_is_better {
        (f64::MAX, 0.0)
    } else {
        (-2.0, 1.0)
    };
    Definition {
        id: wish.id.clone(),
        name: wish.id.as_str().to_owned(),
        metric: wish.metric,
        lower_is_better,
        id_column: wish.id_column().to_owned(),
        target_columns: target.columns(wish),
        classes: if wish.metric.takes_labels() {
            target.classes().to_vec()
        } else {
            Vec::new()
        },
        reference: Reference { worst, best },
        limits: TaskLimits {
            program_s: 60.0,
            grade_s: 10.0,
        },
        source: Source {
            package: String::new(),
            version: String::new(),
            archive: String::new(),
            sha256: ContentHash::of(csv).to_string(),
            file: name.to_owned(),
            licence: "unknown".to_owned(),
            origin: "a user's own table".to_owned(),
        },
        ladder: Vec::new(),
    }
}

impl Wish {
    fn id_column(&self) -> &str {
        self.id_column.as_deref().unwrap_or("id")
    }

    /// The columns to predict from.
    fn features<'a>(&'a self, table: &'a Table) -> impl Iterator<Item = &'a str> {
        table.header().filter(|name| {
            Some(*name) != self.id_column.as_deref() && !self.targets.iter().any(|target| target == name)
        })
    }
}

/// A skeleton: the facts are there, what they mean is for the user to say.
fn description(wish: &Wish, split: &Split, table: &Table, target: &Target) -> String {
    let names: Vec<String> = wish.targets.iter().map(|name| format!("`{name}`")).collect();
    let names = names.join(", ");
    let mut columns = vec![format!("- `{}`: names the row.", wish.id_column())];
    let line = |name: &str, more: &str| {
        let values = table.column(name).unwrap_or_default();
        let example = values
            .iter()
            .find(|value| !value.is_empty())
            .map_or("", |value| value);
        let kind = match snippet::kind(values) {
            snippet::Kind::Int => "whole number",
            snippet::Kind::Float => "number",
            snippet::Kind::Text => "text",
        };
        let example: String = example
            .chars()
            .filter(|c| !c.is_control() && *c != '`')
            .take(40)
            .collect();
        format!("- `{name}`: {kind}, such as `{example}`{more}.")
    };
    columns.extend(wish.features(table).map(|name| line(name, "")));
    columns.extend(
        wish.targets
            .iter()
            .map(|name| line(name, "; only in `train.csv`")),
    );
    format!(
        "# {}\n\nPredict {names}.\n\nSay here what a row is and where the data come from.\n\n## Files\n\n- \
         `data/train.csv`: {} rows with {names}.\n- `data/test.csv`: {} rows without.\n- \
         `data/sample_submission.csv`: a submission in the right form.\n\n## Columns\n\n{}\n\n## Metric\n\n{}; {} is \
         better.\n\n## Submission\n\n{}\n",
        wish.id,
        split.train.len(),
        split.test.len(),
        columns.join("\n"),
        metric_text(wish.metric),
        if wish.metric.lower_is_better() {
            "lower"
        } else {
            "higher"
        },
        target.submission_text(wish)
    )
}

fn metric_text(metric: Metric) -> &'static str {
    match metric {
        Metric::Accuracy => "Accuracy: the share of rows whose label is right",
        Metric::Auc => "Area under the ROC curve (AUC) between the predicted probability and the truth",
        Metric::AucMean => "Area under the ROC curve (AUC), averaged over the columns",
        Metric::MapAt5 => {
            "Mean average precision at 5 (MAP@5): 1 / the place of the right label among five guesses"
        }
        Metric::Pearson => "Pearson's correlation between prediction and truth",
        Metric::Rmse => "Root mean squared error (RMSE)",
        Metric::Rmsle => "Root mean squared logarithmic error (RMSLE)",
        Metric::Mae => "Mean absolute error (MAE)",
        Metric::LogLoss => "Logarithmic loss, −mean(ln p) of the right answers' probabilities",
    }
}

#[cfg(test)]
mod tests;
