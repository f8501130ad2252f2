//! Where the set-up puts tools, models and tasks.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// The data home: `JOURNEYMAN_HOME`, else `/var/lib/journeyman` for root, else `~/.local/share/journeyman`.
pub fn data_home() -> PathBuf {
    if let Some(home) = env::var_os("JOURNEYMAN_HOME").filter(|home| !home.is_empty()) {
        return home.into();
    }
    if nix::unistd::geteuid().is_root() {
        return "/var/lib/journeyman".into();
    }
    Path::new(&env::var_os("HOME").unwrap_or_default()).join(".local/share/journeyman")
}

/// A program that the set-up installed, else one on `PATH`.
pub fn tool(name: &str) -> Result<PathBuf> {
    let installed = data_home().join("tools/bin").join(name);
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
