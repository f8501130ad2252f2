//! All that the rules look at, read once.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use crate::{
    TaskError,
    definition::{Definition, content, prepared, read_bytes, read_text, task_name},
    grading::GradingTask,
    snippet::Table,
};

/// A task with its answers and all its public files.
pub(super) struct Material {
    pub(super) definition: Definition,
    /// None when the definition contradicts itself.
    pub(super) grading: Option<GradingTask>,
    pub(super) train: Table,
    pub(super) test: Table,
    pub(super) sample: Table,
    /// Columns of train that test lacks, with the answers.
    pub(super) labels: Vec<Label>,
    pub(super) description: String,
    /// Every file under `public/`, by its path there.
    pub(super) public: Vec<(String, Vec<u8>)>,
}

/// A column to predict.
pub(super) struct Label {
    pub(super) name: String,
    /// In the order of train's rows.
    pub(super) train: Vec<String>,
    /// In the order of test's rows, out of the answers.
    pub(super) test: Vec<String>,
}

impl Material {
    pub(super) fn load(dir: &Path) -> Result<Self, TaskError> {
        let prepared = prepared(dir);
        let (public, private) = (prepared.join("public"), prepared.join("private"));
        let toml = prepared.join("task.toml");
        let definition = Definition::read(&read_text(dir, &toml)?, &task_name(dir), &toml)?;
        let grading = match definition.problem() {
            None => Some(GradingTask::load(dir)?),
            Some(_) => None,
        };
        let table = |path: PathBuf| -> Result<Table, TaskError> {
            Table::read(&read_bytes(dir, &path)?).map_err(|problem| content(dir, &path, problem))
        };
        let (train, test) = (table(public.join("train.csv"))?, table(public.join("test.csv"))?);
        let sample = table(public.join("sample_submission.csv"))?;
        let answers_path = private.join("answers.csv");
        let answers = table(answers_path.clone())?;
        let labels = labels(&definition, &train, &test, &answers)
            .map_err(|problem| content(dir, &answers_path, problem))?;
        Ok(Self {
            definition,
            grading,
            train,
            test,
            sample,
            labels,
            description: read_text(dir, &public.join("description.md"))?,
            public: files(dir, &public, "")?,
        })
    }

    /// The columns that train and test share, but the id.
    pub(super) fn features(&self) -> impl Iterator<Item = &str> {
        self.test
            .header()
            .filter(|name| *name != self.definition.id_column && self.train.column(name).is_some())
    }

    /// The fields of a feature in train's rows and then in test's.
    pub(super) fn feature(&self, name: &str) -> impl Iterator<Item = &str> {
        [&self.train, &self.test]
            .into_iter()
            .filter_map(move |table| table.column(name))
            .flatten()
            .map(String::as_str)
    }
}

impl Label {
    /// The labels of train's rows and then of test's.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.train.iter().chain(&self.test).map(String::as_str)
    }
}

fn labels(
    definition: &Definition,
    train: &Table,
    test: &Table,
    answers: &Table,
) -> Result<Vec<Label>, String> {
    let id = &definition.id_column;
    let ids = |table: &'_ Table, name: &str| {
        table
            .column(id)
            .map(<[String]>::to_vec)
            .ok_or_else(|| format!("`{name}` has no column `{id}`"))
    };
    let rows: HashMap<String, usize> = ids(answers, "answers.csv")?.into_iter().zip(0..).collect();
    let order = ids(test, "test.csv")?
        .iter()
        .map(|id| {
            rows.get(id)
                .copied()
                .ok_or_else(|| format!("has no row for the id `{id}` of test.csv"))
        })
        .collect::<Result<Vec<usize>, String>>()?;
    let names = train
        .header()
        .filter(|name| *name != id && test.column(name).is_none());
    let labels: Vec<Label> = names
        .filter_map(|name| {
            let truth: Vec<String> = match answers.column(name) {
                Some(column) => order.iter().map(|&row| column[row].clone()).collect(),
                None => order
                    .iter()
                    .map(|&row| class_of(definition, answers, row))
                    .collect::<Option<_>>()?,
            };
            Some(Label {
                name: name.to_owned(),
                train: train.column(name)?.to_vec(),
                test: truth,
            })
        })
        .collect();
    if labels.is_empty() {
        return Err(
            "train.csv has no column with what is to be predicted: one that test.csv lacks".to_owned(),
        );
    }
    Ok(labels)
}

/// The target column that is 1 in a row of answers with one column per class.
fn class_of(definition: &Definition, answers: &Table, row: usize) -> Option<String> {
    let is_one = |name: &&String| answers.column(name).is_some_and(|column| column[row] == "1");
    definition.target_columns.iter().find(is_one).cloned()
}

/// The files under `folder`, which is `inside` of the public directory.
fn files(dir: &Path, folder: &Path, inside: &str) -> Result<Vec<(String, Vec<u8>)>, TaskError> {
    let unreadable = |source| TaskError::Read {
        task: task_name(dir),
        path: folder.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = format!("{inside}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            files.extend(self::files(dir, &entry.path(), &format!("{name}/"))?);
        } else {
            files.push((name, read_bytes(dir, &entry.path())?));
        }
    }
    files.sort();
    Ok(files)
}
