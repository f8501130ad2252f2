//! The public side of a task: all that models, programs and trainers may know of it.

use std::path::{Path, PathBuf};

use journeyman_schemas::ids::TaskId;

use crate::{
    TaskError,
    definition::{Definition, content, prepared, read_bytes, read_text},
    snippet,
};

/// How the section that tells of each column begins.
const COLUMNS: &str = "\n## Columns\n";

/// A task as the implementer, the ideator, the sandbox and the trainer see it. Never opens `private/`.
#[derive(Clone, Debug)]
pub struct PublicTask {
    definition: Definition,
    data_dir: PathBuf,
    description: String,
    starter: String,
    snippet: String,
}

impl PublicTask {
    /// Loads the task directory `dir`, `<tasks>/<id>`. Reads all of `prepared/public`.
    pub fn load(dir: &Path) -> Result<Self, TaskError> {
        let definition = Definition::load(dir)?;
        let prepared = prepared(dir);
        let data_dir = prepared.join("public");
        let starter = read_text(dir, &prepared.join("starter.py"))?;
        let description = read_text(dir, &data_dir.join("description.md"))?;
        let table = |name: &str| -> Result<snippet::Table, TaskError> {
            let path = data_dir.join(name);
            snippet::Table::read(&read_bytes(dir, &path)?).map_err(|problem| content(dir, &path, problem))
        };
        let (train, test, sample) = (
            table("train.csv")?,
            table("test.csv")?,
            table("sample_submission.csv")?,
        );
        if !sample.header().eq(definition.submission_columns()) {
            let wanted: Vec<&str> = definition.submission_columns().collect();
            return Err(content(
                dir,
                &data_dir.join("sample_submission.csv"),
                format!("its header must be `{}`, as task.toml says", wanted.join(",")),
            ));
        }
        if test.rows() != sample.rows() {
            return Err(content(
                dir,
                &data_dir.join("sample_submission.csv"),
                format!("has {} rows, but test.csv has {}", sample.rows(), test.rows()),
            ));
        }
        let snippet = snippet::describe(&train, &test, &sample);
        Ok(Self {
            definition,
            data_dir,
            description,
            starter,
            snippet,
        })
    }

    /// Name in subjects and paths.
    pub fn id(&self) -> &TaskId {
        &self.definition.id
    }

    /// Metric, columns, reference scores, limits, source.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// The directory that programs see, read-only, as `./data`.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// The task in words (Markdown): goal, files, columns, metric, submission format.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The description without its section `## Columns`: for prompts, which have the data snippet for that.
    pub fn summary(&self) -> String {
        let Some(start) = self.description.find(COLUMNS) else {
            return self.description.clone();
        };
        let (before, columns) = self.description.split_at(start);
        let end = columns[COLUMNS.len()..]
            .find("\n## ")
            .map_or(columns.len(), |end| COLUMNS.len() + end);
        format!("{before}{}", &columns[end..])
    }

    /// The program that a model goes on from: it lacks the model and the variable `predictions`.
    pub fn starter_code(&self) -> &str {
        &self.starter
    }

    /// The real columns with their types and examples, runs of numbered ones in one line, and the first lines of a submission.
    pub fn data_snippet(&self) -> &str {
        &self.snippet
    }

    /// The score with the sign turned so that higher is better.
    pub fn gain(&self, score: f64) -> f64 {
        self.definition.gain(score)
    }

    /// The score on a scale where the sample submission has 0 and the best known solution 1. Not clipped.
    pub fn normalised(&self, score: f64) -> f64 {
        self.definition.normalised(score)
    }
}

/// Ids of the tasks under `tasks` that have a `prepared/task.toml`, sorted. None when there is no such directory.
pub fn prepared_tasks(tasks: &Path) -> Vec<TaskId> {
    let entries = std::fs::read_dir(tasks).into_iter().flatten().flatten();
    let mut ids: Vec<TaskId> = entries
        .filter(|entry| prepared(&entry.path()).join("task.toml").is_file())
        .filter_map(|entry| TaskId::new(entry.file_name().to_string_lossy()).ok())
        .collect();
    ids.sort();
    ids
}

#[cfg(test)]
mod tests;
