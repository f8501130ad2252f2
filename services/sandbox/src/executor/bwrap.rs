//! What a program finds inside: bubblewrap's arguments.

use std::{
    ffi::OsString,
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
    process::Command,
};

/// Oldest bubblewrap that can forbid nested user namespaces and take several filters.
const OLDEST: (u32, u32) = (0, 8);
/// Where the program lies.
const PROGRAM: &str = "/program/program.py";

/// System directories without which no Python starts. Those that are symbolic links here are links inside, too.
const SYSTEM: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"];
/// Single files: the dynamic linker's cache, and Debian's choice of BLAS.
const FILES: [&str; 2] = ["/etc/ld.so.cache", "/etc/alternatives"];

/// What is shown to one program.
pub(super) struct Inside<'a> {
    pub(super) python: &'a Path,
    pub(super) program: &'a Path,
    pub(super) work: &'a Path,
    pub(super) data: &'a Path,
    pub(super) threads: u32,
    pub(super) disk_bytes: u64,
    pub(super) filters: &'a [OwnedFd],
    pub(super) status: &'a OwnedFd,
}

impl Inside<'_> {
    /// The arguments, in the order in which bubblewrap carries them out.
    pub(super) fn arguments(&self) -> io::Result<Vec<OsString>> {
        let mut list = Arguments::default();
        list.words(
            "--unshare-all --unshare-user --disable-userns --new-session --die-with-parent --clearenv",
        );
        list.words("--hostname sandbox");
        for path in SYSTEM.map(Path::new) {
            match path.symlink_metadata() {
                Ok(metadata) if metadata.is_symlink() => {
                    list.push("--symlink").push(path.read_link()?).push(path);
                }
                Ok(_) => list.bind("--ro-bind", path, path),
                Err(_) => {}
            }
        }
        for path in FILES.map(Path::new) {
            list.bind("--ro-bind-try", path, path);
        }
        list.words("--proc /proc --dev /dev");
        let size = self.disk_bytes.to_string();
        for place in ["/dev/shm", "/tmp"] {
            list.words("--size").push(&size).words("--tmpfs").push(place);
        }
        // After the places above, under one of which it may lie.
        list.bind("--ro-bind", self.python, self.python);
        list.bind("--ro-bind", self.program, Path::new(PROGRAM));
        list.bind("--bind", self.work, Path::new("/work"));
        list.bind("--ro-bind", self.data, Path::new("/work/data"));
        // Last: nothing can be made in a read-only directory.
        list.words("--remount-ro /dev --remount-ro / --chdir /work");
        let threads = self.threads.to_string();
        for (name, value) in [
            ("HOME", "/work"),
            ("USER", "program"),
            ("LANG", "C.UTF-8"),
            ("PATH", &format!("{}/bin:/usr/bin:/bin", self.python.display())),
            ("TMPDIR", "/tmp"),
            ("MPLBACKEND", "Agg"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
            ("OMP_NUM_THREADS", &threads),
            ("OPENBLAS_NUM_THREADS", &threads),
            ("MKL_NUM_THREADS", &threads),
            ("NUMEXPR_MAX_THREADS", &threads),
            ("LOKY_MAX_CPU_COUNT", &threads),
        ] {
            list.push("--setenv").push(name).push(value);
        }
        for filter in self.filters {
            list.words("--add-seccomp-fd")
                .push(filter.as_raw_fd().to_string());
        }
        list.words("--json-status-fd")
            .push(self.status.as_raw_fd().to_string());
        list.push("--")
            .push(interpreter(self.python))
            .words("-B -u")
            .push(PROGRAM);
        Ok(list.0)
    }
}

/// The interpreter of the environment `python`.
pub(super) fn interpreter(python: &Path) -> PathBuf {
    python.join("bin/python3")
}

/// Checks that `bwrap` is there and new enough; else says what is wrong.
pub(super) fn check(bwrap: &Path) -> Result<(), String> {
    let shown = bwrap.display();
    let output = Command::new(bwrap).arg("--version").output().map_err(|error| {
        format!("bubblewrap `{shown}` cannot be started: {error}; install the package `bubblewrap`")
    })?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let mut numbers = text
        .trim_start_matches("bubblewrap ")
        .split('.')
        .map(|part| part.parse::<u32>().ok());
    let (oldest_major, oldest_minor) = OLDEST;
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) if (major, minor) >= OLDEST => Ok(()),
        _ => Err(format!(
            "`{shown} --version` says `{text}`; {oldest_major}.{oldest_minor} or newer is needed"
        )),
    }
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn push(&mut self, word: impl Into<OsString>) -> &mut Self {
        self.0.push(word.into());
        self
    }

    fn words(&mut self, words: &str) -> &mut Self {
        self.0.extend(words.split(' ').map(OsString::from));
        self
    }

    fn bind(&mut self, how: &str, from: &Path, to: &Path) {
        self.push(how).push(from).push(to);
    }
}
