//! The directory in which jobs have their files, and what a killed executor left in it.

use std::{
    fs::{self, File, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

/// Others may pass through, not look around: a job's user reaches only the path that it is given.
const PASS_THROUGH: u32 = 0o711;

/// One executor's directory. The lock says that it lives.
pub(super) struct Spool {
    root: PathBuf,
    name: String,
    jobs: AtomicU64,
    _lock: File,
}

impl Spool {
    /// Makes a directory of its own under `root`.
    pub(super) fn open(root: &Path) -> io::Result<Spool> {
        fs::create_dir_all(root)?;
        fs::set_permissions(root, Permissions::from_mode(PASS_THROUGH))?;
        let nanos = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |age| age.as_nanos());
        let name = format!("x{}-{nanos:x}", std::process::id());
        let directory = root.join(&name);
        make_directory(&directory)?;
        let lock = File::create(directory.join("lock"))?;
        lock.lock()?;
        Ok(Spool {
            root: root.to_path_buf(),
            name,
            jobs: AtomicU64::new(0),
            _lock: lock,
        })
    }

    /// Name of this executor, which no other has.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// A fresh directory for a job, and its name.
    pub(super) fn job(&self) -> io::Result<JobDirectory> {
        let name = format!("j{}", self.jobs.fetch_add(1, Ordering::Relaxed));
        let path = self.root.join(&self.name).join(&name);
        make_directory(&path)?;
        Ok(JobDirectory { name, path })
    }

    /// Executors that made directories here and are dead.
    pub(super) fn dead(&self) -> io::Result<Vec<String>> {
        let mut dead = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == self.name || !name.starts_with('x') {
                continue;
            }
            match File::open(entry.path().join("lock")) {
                Ok(lock) if lock.try_lock().is_err() => {}
                // One that has only begun and has no lock yet is left alone: it is empty.
                Err(_) => {}
                Ok(_) => dead.push(name),
            }
        }
        Ok(dead)
    }

    /// Removes the directory of a dead executor.
    pub(super) fn remove(&self, executor: &str) -> io::Result<()> {
        fs::remove_dir_all(self.root.join(executor))
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let directory = self.root.join(&self.name);
        if let Err(error) = fs::remove_dir_all(&directory) {
            tracing::warn!(%error, directory = %directory.display(), "the spool could not be removed");
        }
    }
}

/// A job's directory, removed when dropped.
pub(super) struct JobDirectory {
    pub(super) name: String,
    pub(super) path: PathBuf,
}

impl Drop for JobDirectory {
    fn drop(&mut self) {
        // A program may have taken its own directories' permissions away; ours is the one who owns them or root.
        if fs::remove_dir_all(&self.path).is_err() {
            open_up(&self.path);
            if let Err(error) = fs::remove_dir_all(&self.path) {
                tracing::warn!(%error, directory = %self.path.display(), "a job's directory could not be removed");
            }
        }
    }
}

fn open_up(directory: &Path) {
    // What cannot be changed fails again, and is reported, at the removal.
    drop(fs::set_permissions(directory, Permissions::from_mode(0o700)));
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

fn make_directory(path: &Path) -> io::Result<()> {
    fs::create_dir(path)?;
    fs::set_permissions(path, Permissions::from_mode(PASS_THROUGH))
}

/// The first part of `path` through which other users cannot pass.
pub(super) fn closed_to_others(path: &Path) -> io::Result<Option<PathBuf>> {
    let path = path.canonicalize()?;
    for part in path.ancestors() {
        if fs::metadata(part)?.permissions().mode() & 0o001 == 0 {
            return Ok(Some(part.to_path_buf()));
        }
    }
    Ok(None)
}
