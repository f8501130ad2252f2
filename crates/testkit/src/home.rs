//! What the set-up put in place.

use std::{env, path::PathBuf};

use anyhow::{Context, Result};
use journeyman_schemas::home;

/// Where a model file lies; fails when it was not fetched.
pub fn model(file: &str) -> PathBuf {
    let path = home::models().join(file);
    assert!(
        path.is_file(),
        "no model file `{}`: run `make setup`, or `journeyman models pull`",
        path.display()
    );
    path
}

/// A program that the set-up installed, else one on `PATH`.
pub fn tool(name: &str) -> Result<PathBuf> {
    let installed = home::tools().join(name);
    if installed.is_file() {
        return Ok(installed);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|file| file.is_file());
    found.with_context(|| {
        format!(
            "no `{name}` at `{}` and none on PATH; run `make setup`",
            installed.display()
        )
    })
}
