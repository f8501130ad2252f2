//! Limits and accounts of a job's process tree: control groups, version 1, version 2, or both side by side.

use std::{
    fs::{self, OpenOptions},
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::Bounds;

/// Everything that we make lies in directories of this name.
const OWN_DIRECTORY: &str = "journeyman-sandbox";
/// How long a killed tree may take to vanish.
const DEATH_DEADLINE: Duration = Duration::from_secs(10);

/// Which file format a controller has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

/// One controller under which jobs' groups are made.
#[derive(Clone, Debug)]
struct Controller {
    version: Version,
    /// The directory of this executor, in which each job has one.
    base: PathBuf,
}

/// The controllers that really work here: each was probed by making a group.
#[derive(Debug, Default)]
pub(super) struct Hierarchies {
    memory: Option<Controller>,
    pids: Option<Controller>,
    cpu: Option<Controller>,
    /// A version 2 tree whose groups can be killed in one write.
    kill: Option<Controller>,
}

impl Hierarchies {
    /// Probes the machine for the executor named `executor`. What does not work is said in `missing`.
    pub(super) fn probe(executor: &str, missing: &mut Vec<String>) -> Hierarchies {
        let trees = Trees::read();
        let mut probe = |name: &str, check: &[&str]| {
            let found = trees.controller(name, executor, check);
            found
                .map_err(|reason| missing.push(format!("cgroup `{name}`: {reason}")))
                .ok()
        };
        Hierarchies {
            memory: probe("memory", &["memory.limit_in_bytes", "memory.max"]),
            pids: probe("pids", &["pids.max"]),
            cpu: probe("cpuacct", &["cpuacct.usage", "cpu.stat"]),
            // Not missed: processes are killed one by one without it.
            kill: trees.controller("", executor, &["cgroup.kill"]).ok(),
        }
    }

    /// Whether a tree's memory and number of processes can be limited.
    pub(super) fn limits(&self) -> bool {
        self.memory.is_some() && self.pids.is_some()
    }

    fn all(&self) -> impl Iterator<Item = &Controller> {
        [&self.memory, &self.pids, &self.cpu, &self.kill]
            .into_iter()
            .flatten()
    }

    /// Kills and removes what the executor named `executor` left behind. Returns how many jobs' groups there were.
    pub(super) fn sweep(&self, executor: &str) -> usize {
        let mut jobs = 0;
        for base in distinct(self.all().filter_map(|controller| controller.base.parent())) {
            let left = base.join(executor);
            for job in subdirectories(&left) {
                jobs += 1;
                let removed = empty(std::slice::from_ref(&job)).and_then(|_| fs::remove_dir(&job));
                if let Err(error) = removed {
                    tracing::warn!(%error, group = %job.display(), "a left group could not be removed");
                }
            }
            if left.exists()
                && let Err(error) = fs::remove_dir(&left)
            {
                tracing::warn!(%error, group = %left.display(), "a left group could not be removed");
            }
        }
        jobs
    }

    /// Groups with the name `job`, with the job's limits set.
    pub(super) fn create(&self, job: &str, bounds: &Bounds) -> io::Result<JobGroup> {
        let place = |controller: &Option<Controller>| {
            controller.as_ref().map(|controller| Controller {
                version: controller.version,
                base: controller.base.join(job),
            })
        };
        let group = JobGroup {
            directories: distinct(self.all().map(|controller| controller.base.as_path()))
                .into_iter()
                .map(|base| base.join(job))
                .collect(),
            memory: place(&self.memory),
            cpu: place(&self.cpu),
        };
        for directory in &group.directories {
            fs::create_dir(directory)?;
        }
        if let Some(memory) = &group.memory {
            let bytes = bounds.memory_bytes.to_string();
            match memory.version {
                Version::V1 => {
                    write(&memory.base, "memory.limit_in_bytes", &bytes)?;
                    write_if_there(&memory.base, "memory.memsw.limit_in_bytes", &bytes)?;
                }
                Version::V2 => {
                    write(&memory.base, "memory.max", &bytes)?;
                    write_if_there(&memory.base, "memory.swap.max", "0")?;
                    write_if_there(&memory.base, "memory.oom.group", "1")?;
                }
            }
        }
        if let Some(pids) = place(&self.pids) {
            write(&pids.base, "pids.max", &bounds.pids.to_string())?;
        }
        Ok(group)
    }

    /// Removes this executor's own directories.
    pub(super) fn remove(&self) {
        for base in distinct(self.all().map(|controller| controller.base.as_path())) {
            if let Err(error) = fs::remove_dir(&base) {
                tracing::warn!(%error, group = %base.display(), "the executor's group could not be removed");
            }
        }
    }
}

/// The groups of one job; killed, emptied and removed when dropped.
pub(super) struct JobGroup {
    directories: Vec<PathBuf>,
    memory: Option<Controller>,
    cpu: Option<Controller>,
}

impl JobGroup {
    /// Files to which a process writes `0` to join.
    pub(super) fn join_files(&self) -> io::Result<Vec<OwnedFd>> {
        self.directories
            .iter()
            .map(|directory| {
                let file = OpenOptions::new()
                    .write(true)
                    .open(directory.join("cgroup.procs"))?;
                Ok(OwnedFd::from(file))
            })
            .collect()
    }

    /// Kills every process in it, and waits until none is left. Returns how many there were.
    pub(super) fn kill(&self) -> io::Result<usize> {
        empty(&self.directories)
    }

    /// CPU seconds of the whole tree, the dead included; none without an accounting controller.
    pub(super) fn cpu_s(&self) -> Option<f64> {
        let cpu = self.cpu.as_ref()?;
        match cpu.version {
            Version::V1 => Some(number(&cpu.base.join("cpuacct.usage"))? as f64 / 1e9),
            Version::V2 => Some(field(&cpu.base.join("cpu.stat"), "usage_usec")? as f64 / 1e6),
        }
    }

    /// How many processes were killed for memory.
    pub(super) fn oom_kills(&self) -> Option<u64> {
        let memory = self.memory.as_ref()?;
        match memory.version {
            Version::V1 => field(&memory.base.join("memory.oom_control"), "oom_kill"),
            Version::V2 => field(&memory.base.join("memory.events"), "oom_kill"),
        }
    }

    /// Most memory that the tree held, bytes.
    pub(super) fn memory_peak(&self) -> Option<u64> {
        let memory = self.memory.as_ref()?;
        match memory.version {
            Version::V1 => number(&memory.base.join("memory.max_usage_in_bytes")),
            Version::V2 => number(&memory.base.join("memory.peak")),
        }
    }
}

impl Drop for JobGroup {
    fn drop(&mut self) {
        if let Err(error) = empty(&self.directories) {
            tracing::warn!(%error, "a job's group could not be emptied");
        }
        for directory in &self.directories {
            if let Err(error) = fs::remove_dir(directory)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(%error, group = %directory.display(), "a job's group could not be removed");
            }
        }
    }
}

/// Kills what is in `directories` until nothing is. Returns how many processes there were at first.
fn empty(directories: &[PathBuf]) -> io::Result<usize> {
    let found = directories
        .iter()
        .map(|directory| pids(directory).len())
        .max()
        .unwrap_or(0);
    let deadline = Instant::now() + DEATH_DEADLINE;
    let mut pause = Duration::from_micros(200);
    loop {
        let mut left = 0;
        for directory in directories {
            let pids = pids(directory);
            left += pids.len();
            if !pids.is_empty() && write(directory, "cgroup.kill", "1").is_err() {
                for pid in pids {
                    if let Err(error) = kill(pid, Signal::SIGKILL) {
                        tracing::trace!(%error, %pid, "gone before it was killed");
                    }
                }
            }
        }
        if left == 0 {
            return Ok(found);
        }
        if Instant::now() > deadline {
            let message = format!("{left} processes outlived SIGKILL by {DEATH_DEADLINE:?}");
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Processes in a group. 0 stands for one of another pid namespace, which cannot be ours.
fn pids(directory: &Path) -> Vec<Pid> {
    let text = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.parse().ok())
        .filter(|pid| *pid > 0)
        .map(Pid::from_raw)
        .collect()
}

fn write(directory: &Path, file: &str, text: &str) -> io::Result<()> {
    // Without `create`: a controller that is not there must not be mistaken for one.
    let mut file = OpenOptions::new().write(true).open(directory.join(file))?;
    io::Write::write_all(&mut file, text.as_bytes())
}

fn write_if_there(directory: &Path, file: &str, text: &str) -> io::Result<()> {
    match write(directory, file, text) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn field(file: &Path, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

fn subdirectories(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect()
}

fn distinct<'a>(paths: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = paths.map(Path::to_path_buf).collect();
    found.sort();
    found.dedup();
    found
}

/// Where control group trees are mounted, and where we stand in them.
struct Trees {
    /// Mount point, version, and the tree's options (which name version 1 controllers).
    mounts: Vec<(PathBuf, Version, String)>,
    own: String,
}

impl Trees {
    fn read() -> Trees {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let mounts = mounts
            .lines()
            .filter_map(|line| {
                let words: Vec<&str> = line.split(' ').collect();
                let (point, kind, options) = (words.get(1)?, words.get(2)?, words.get(3)?);
                let version = match *kind {
                    "cgroup" => Version::V1,
                    "cgroup2" => Version::V2,
                    _ => return None,
                };
                Some((PathBuf::from(point), version, (*options).to_owned()))
            })
            .collect();
        Trees {
            mounts,
            own: fs::read_to_string("/proc/self/cgroup").unwrap_or_default(),
        }
    }

    /// Our own group in a tree, relative to its mount point.
    fn own_group(&self, version: Version, name: &str) -> Option<&str> {
        self.own.lines().find_map(|line| {
            let mut words = line.splitn(3, ':').skip(1);
            let (controllers, path) = (words.next()?, words.next()?);
            let ours = match version {
                Version::V1 => controllers.split(',').any(|controller| controller == name),
                Version::V2 => controllers.is_empty(),
            };
            ours.then(|| path.trim_start_matches('/'))
        })
    }

    /// A controller by its version 1 name ("" = any version 2 tree), tried by making a group that must have one of
    /// the files in `check`.
    fn controller(&self, name: &str, executor: &str, check: &[&str]) -> Result<Controller, String> {
        let mut reason = "no such tree is mounted".to_owned();
        for (point, version, options) in &self.mounts {
            if *version == Version::V1 && !options.split(',').any(|option| option == name) {
                continue;
            }
            let own = self.own_group(*version, name).unwrap_or("");
            // The top of what we see is ours on a host and in a container; elsewhere only our own group may be.
            for top in distinct([point.as_path(), &point.join(own)].into_iter()) {
                match open_base(&top, *version, name, executor, check) {
                    Ok(base) => {
                        return Ok(Controller {
                            version: *version,
                            base,
                        });
                    }
                    Err(error) => reason = format!("{}: {error}", top.display()),
                }
            }
        }
        Err(reason)
    }
}

fn open_base(
    top: &Path,
    version: Version,
    name: &str,
    executor: &str,
    check: &[&str],
) -> io::Result<PathBuf> {
    let (parent, base) = (top.join(OWN_DIRECTORY), top.join(OWN_DIRECTORY).join(executor));
    let controller = match name {
        "memory" | "pids" if version == Version::V2 => Some(name),
        _ => None,
    };
    if let Some(controller) = controller {
        delegate(top, controller)?;
    }
    fs::create_dir_all(&base)?;
    if let Some(controller) = controller {
        write(&parent, "cgroup.subtree_control", &format!("+{controller}"))?;
        write(&base, "cgroup.subtree_control", &format!("+{controller}"))?;
    }
    let probe = base.join("probe");
    fs::create_dir(&probe)?;
    let works = check.iter().any(|file| probe.join(file).exists());
    fs::remove_dir(&probe)?;
    if works {
        return Ok(base);
    }
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        format!("a new group has no `{}`", check.join("` or `")),
    ))
}

/// Lets the groups under `top` have a controller. A group that holds processes cannot, unless it is the root: then
/// its processes go into a leaf of their own first.
fn delegate(top: &Path, controller: &str) -> io::Result<()> {
    let enable = || write(top, "cgroup.subtree_control", &format!("+{controller}"));
    match enable() {
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
            let leaf = top.join("journeyman-leaf");
            fs::create_dir_all(&leaf)?;
            for pid in pids(top) {
                write(&leaf, "cgroup.procs", &pid.to_string())?;
            }
            enable()
        }
        other => other,
    }
}
