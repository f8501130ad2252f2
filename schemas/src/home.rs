//! Where Journeyman keeps what is not the user's project: tools, models, tasks, Python.

use std::path::PathBuf;

/// The data home: `JOURNEYMAN_HOME`, else `/var/lib/journeyman` for root, else `~/.local/share/journeyman`.
///
/// Root's own home is closed to the unprivileged users that programs run as, so it is not used.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that finds the data home, before any configuration"
)]
pub fn data_home() -> PathBuf {
    if let Some(home) = std::env::var_os("JOURNEYMAN_HOME").filter(|home| !home.is_empty()) {
        return home.into();
    }
    match std::env::var_os("HOME") {
        Some(home) if home != "/root" && home != "/" => PathBuf::from(home).join(".local/share/journeyman"),
        _ => "/var/lib/journeyman".into(),
    }
}

/// The pinned server programs and validators.
pub fn tools() -> PathBuf {
    data_home().join("tools/bin")
}

/// Model files.
pub fn models() -> PathBuf {
    data_home().join("models")
}

/// Prepared tasks, `<id>/prepared/{public,private}`.
pub fn tasks() -> PathBuf {
    data_home().join("tasks")
}

/// The interpreter that programs run with.
pub fn python() -> PathBuf {
    data_home().join("python/bin/python3")
}
