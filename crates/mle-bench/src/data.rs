//! Prepared data directories: MLE-bench's (with a checkout of its repository) and MLE-Dojo's.
//!
//! ```text
//! <data>/<id>/prepared/{public,private}/                      MLE-bench
//! <repo>/mlebench/competitions/<id>/{config.yaml, checksums.yaml, leaderboard.csv}
//! <dojo>/<id>/{public,private}/, or <dojo>/<id>/data/…        MLE-Dojo
//! ```
//!
//! The sample submission is only ever read from `public/`: five of MLE-bench's configurations point into `private/`.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read,
    path::{Component, Path, PathBuf},
};

use md5::{Digest, Md5};
use serde::Deserialize;

use crate::{
    competition::Competition,
    leaderboard::{Board, BoardError},
};

/// Endings of the files that have checksums.
const CHECKED_ENDINGS: [&str; 5] = ["csv", "json", "jsonl", "parquet", "bson"];

/// Where data lies.
#[derive(Clone, Debug, Default)]
pub struct Directories {
    /// MLE-bench's data directory.
    pub data: Option<PathBuf>,
    /// A checkout of MLE-bench's repository.
    pub repo: Option<PathBuf>,
    /// MLE-Dojo's data directory.
    pub dojo: Option<PathBuf>,
}

/// One prepared competition.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// Its name for people.
    pub name: String,
    /// Text for the agent; empty if there is none.
    pub description: String,
    /// The answers file.
    pub answers: PathBuf,
    /// What agents may see.
    pub public: PathBuf,
    /// The sample submission in `public`, if it is there.
    pub sample_submission: Option<PathBuf>,
    /// The boards, private first.
    pub boards: Vec<Board>,
    /// What was left out, for people.
    pub notes: Vec<String>,
}

/// Why a competition's data can't be used.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// Neither directory has it.
    #[error("competition `{id}` is not prepared: there is no `{}`", path.display())]
    NotPrepared {
        /// Which one.
        id: String,
        /// The directory that would hold it.
        path: PathBuf,
    },
    /// A file can't be read.
    #[error("can't read `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not in its format.
    #[error("`{}`: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// What `config.yaml` says that grading needs.
#[derive(Deserialize)]
struct Config {
    name: String,
    description: PathBuf,
    dataset: Dataset,
}

#[derive(Deserialize)]
struct Dataset {
    answers: PathBuf,
    sample_submission: PathBuf,
}

impl Directories {
    /// Ids of the competitions that either directory has, sorted.
    pub fn ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = [&self.data, &self.dojo]
            .into_iter()
            .flatten()
            .filter_map(|directory| fs::read_dir(directory).ok())
            .flatten()
            .filter_map(Result::ok)
            .filter(|entry| entry.path().is_dir())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.'))
            .collect();
        ids.sort();
        ids.dedup();
        ids
    }

    /// Loads a competition, from MLE-bench's directory if it is there, else from MLE-Dojo's.
    pub fn load(&self, competition: &Competition) -> Result<Prepared, DataError> {
        let id = &competition.id;
        if let Some(data) = &self.data
            && data.join(id).is_dir()
        {
            return self.load_mle_bench(data, competition);
        }
        if let Some(dojo) = &self.dojo
            && dojo.join(id).is_dir()
        {
            return load_dojo(&dojo.join(id), competition);
        }
        let path = self
            .data
            .as_ref()
            .or(self.dojo.as_ref())
            .cloned()
            .unwrap_or_default();
        Err(DataError::NotPrepared {
            id: id.clone(),
            path: path.join(id),
        })
    }

    fn load_mle_bench(&self, data: &Path, competition: &Competition) -> Result<Prepared, DataError> {
        let prepared = data.join(&competition.id).join("prepared");
        let public = prepared.join("public");
        let mut loaded = Prepared {
            name: competition.id.clone(),
            description: fs::read_to_string(public.join("description.md")).unwrap_or_default(),
            answers: prepared.join(&competition.answers),
            sample_submission: None,
            public,
            boards: Vec::new(),
            notes: Vec::new(),
        };
        let mut sample = competition.sample_submission.clone();
        if let Some(directory) = self.repo_directory(competition) {
            let path = directory.join("config.yaml");
            let config: Config = read_yaml(&path)?;
            loaded.answers = data.join(below(&path, &config.dataset.answers)?);
            // Of the sample's path, only the name counts.
            sample = file_name(&config.dataset.sample_submission).unwrap_or(sample);
            loaded.name = config.name;
            if let Some(repo) = &self.repo
                && let Ok(text) = fs::read_to_string(repo.join(below(&path, &config.description)?))
            {
                loaded.description = text;
            }
            let path = directory.join("leaderboard.csv");
            match fs::read(&path) {
                Ok(bytes) => match Board::read(&bytes) {
                    Ok(board) => loaded.boards.push(board),
                    Err(BoardError::Pointer) => loaded.notes.push(
                        "leaderboard.csv is a Git LFS pointer; thresholds are those of the built-in table"
                            .to_owned(),
                    ),
                    Err(error) => return Err(content(&path, error)),
                },
                Err(_) => loaded.notes.push(
                    "there is no leaderboard.csv; thresholds are those of the built-in table".to_owned(),
                ),
            }
        }
        if !loaded.answers.is_file() {
            return Err(DataError::NotPrepared {
                id: competition.id.clone(),
                path: loaded.answers,
            });
        }
        loaded.sample_submission = Some(loaded.public.join(sample)).filter(|path| path.is_file());
        Ok(loaded)
    }

    fn repo_directory(&self, competition: &Competition) -> Option<PathBuf> {
        let competitions = self.repo.as_ref()?.join("mlebench").join("competitions");
        Some(competitions.join(&competition.id))
    }

    /// Compares the files of `public/` and `private/` with `checksums.yaml`, as MLE-bench does after preparing: the
    /// sets of files and their MD5 sums must be equal. The sentences say what differs; none means that all is well.
    pub fn verify(&self, competition: &Competition) -> Result<Vec<String>, DataError> {
        let (Some(data), Some(directory)) = (&self.data, self.repo_directory(competition)) else {
            return Ok(vec![
                "checksums need the data directory and the repository".to_owned(),
            ]);
        };
        let checksums: Checksums = read_yaml(&directory.join("checksums.yaml"))?;
        let prepared = data.join(&competition.id).join("prepared");
        let mut differences = Vec::new();
        for (name, expected) in [("public", &checksums.public), ("private", &checksums.private)] {
            let actual = checksums_of(&prepared.join(name))?;
            for (file, sum) in expected {
                match actual.get(file) {
                    None => differences.push(format!("{name}/{file} is missing")),
                    Some(other) if other != sum => {
                        differences.push(format!(
                            "{name}/{file} has the MD5 sum {other}, but should have {sum}"
                        ));
                    }
                    Some(_) => {}
                }
            }
            let extra = actual.keys().filter(|file| !expected.contains_key(*file));
            differences.extend(extra.map(|file| format!("{name}/{file} is not in checksums.yaml")));
        }
        Ok(differences)
    }
}

#[derive(Deserialize)]
struct Checksums {
    #[serde(default)]
    public: BTreeMap<String, String>,
    #[serde(default)]
    private: BTreeMap<String, String>,
}

fn load_dojo(directory: &Path, competition: &Competition) -> Result<Prepared, DataError> {
    let root = [directory.join("data"), directory.to_owned()]
        .into_iter()
        .find(|path| path.join("private").is_dir())
        .ok_or_else(|| DataError::NotPrepared {
            id: competition.id.clone(),
            path: directory.join("private"),
        })?;
    let (public, private) = (root.join("public"), root.join("private"));
    let answers = private.join("test_answer.csv");
    if !answers.is_file() {
        return Err(DataError::NotPrepared {
            id: competition.id.clone(),
            path: answers,
        });
    }
    let (mut boards, mut notes) = (Vec::new(), Vec::new());
    for name in ["private_leaderboard.csv", "public_leaderboard.csv"] {
        let path = private.join(name);
        match fs::read(&path) {
            Ok(bytes) => boards.push(Board::read(&bytes).map_err(|error| content(&path, error))?),
            Err(_) => notes.push(format!("there is no {name}")),
        }
    }
    Ok(Prepared {
        name: competition.id.clone(),
        description: fs::read_to_string(public.join("description.txt")).unwrap_or_default(),
        answers,
        sample_submission: Some(public.join("sample_submission.csv")).filter(|path| path.is_file()),
        public,
        boards,
        notes,
    })
}

/// MD5 sums of the data files directly in a directory.
fn checksums_of(directory: &Path) -> Result<BTreeMap<String, String>, DataError> {
    let unreadable = |source| DataError::Read {
        path: directory.to_owned(),
        source,
    };
    let mut sums = BTreeMap::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_checked = path
            .extension()
            .and_then(|ending| ending.to_str())
            .is_some_and(|ending| CHECKED_ENDINGS.contains(&ending));
        if is_checked
            && path.is_file()
            && let Some(name) = file_name(&path)
        {
            sums.insert(name, md5(&path)?);
        }
    }
    Ok(sums)
}

fn md5(path: &Path) -> Result<String, DataError> {
    let unreadable = |source| DataError::Read {
        path: path.to_owned(),
        source,
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let (mut hash, mut buffer) = (Md5::new(), vec![0; 1 << 16]);
    loop {
        let len = file.read(&mut buffer).map_err(unreadable)?;
        if len == 0 {
            break;
        }
        hash.update(&buffer[..len]);
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn read_yaml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, DataError> {
    let text = fs::read_to_string(path).map_err(|source| DataError::Read {
        path: path.to_owned(),
        source,
    })?;
    serde_saphyr::from_str(&text).map_err(|error| content(path, error))
}

/// A path of a configuration, which must stay below its root.
fn below<'a>(config: &Path, path: &'a Path) -> Result<&'a Path, DataError> {
    if path.components().all(|part| matches!(part, Component::Normal(_))) {
        Ok(path)
    } else {
        Err(content(
            config,
            format!("the path `{}` leaves its directory", path.display()),
        ))
    }
}

fn file_name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

fn content(path: &Path, problem: impl ToString) -> DataError {
    DataError::Content {
        path: path.to_owned(),
        problem: problem.to_string(),
    }
}

#[cfg(test)]
mod tests;
