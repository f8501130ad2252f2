//! The executor against real programs: how runs end, what programs reach, what is taken out, what is left.

mod isolation;
mod leftovers;
mod service;
mod submission;
mod verdicts;

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use journeyman_sandbox::executor::{Executor, ExecutorConfig, Ran, Request};
use journeyman_schemas::execution::{IsolationLevel, Limits};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// An executor, and a task directory with public files and, beside them, answers.
struct Bench {
    executor: Executor,
    files: TempDir,
}

impl Bench {
    fn new() -> Bench {
        Bench::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut ExecutorConfig)) -> Bench {
        let files = open_directory();
        for (name, text) in [
            ("public/train.csv", "id,x,y\n1,0.5,0\n2,1.5,1\n3,0.4,0\n4,1.7,1\n"),
            ("public/test.csv", "id,x\n5,0.3\n6,1.9\n"),
            ("private/answers.csv", "id,y\n5,ANSWER-CANARY\n"),
        ] {
            let path = files.path().join(name);
            fs::create_dir_all(path.parent().expect("every name has a directory"))
                .expect("can write in temp");
            fs::write(path, text).expect("can write in temp");
        }
        let mut config = config(files.path().join("spool"));
        change(&mut config);
        let executor = Executor::new(config).expect("this machine runs programs in isolation");
        Bench { executor, files }
    }

    fn data_dir(&self) -> PathBuf {
        self.files.path().join("public")
    }

    fn request(&self, program: &str) -> Request {
        Request {
            program: program.into(),
            data_dir: self.data_dir(),
            limits: limits(),
            keep_lines: None,
            cancel: CancellationToken::new(),
        }
    }

    fn run(&self, program: &str) -> Ran {
        self.run_within(program, |_| {})
    }

    fn run_within(&self, program: &str, change: impl FnOnce(&mut Limits)) -> Ran {
        let mut request = self.request(program);
        change(&mut request.limits);
        self.executor
            .run(&request)
            .expect("the sandbox itself does not fail")
    }

    /// Whether control groups limit jobs, rather than a watcher that looks now and then.
    fn is_full(&self) -> bool {
        self.executor.level() == IsolationLevel::Full
    }
}

fn config(spool: PathBuf) -> ExecutorConfig {
    ExecutorConfig {
        bwrap: "/usr/bin/bwrap".into(),
        python: journeyman_testkit::data_home().join("python"),
        spool,
        minimum_level: IsolationLevel::Namespaces,
        first_uid: 61_500,
        uids: 64,
        threads: 1,
        submission_bytes: 1 << 20,
        flood_bytes: 8 << 20,
    }
}

fn limits() -> Limits {
    Limits {
        wall_s: 120.0,
        memory_bytes: 512 << 20,
        pids: 32,
        output_bytes: 64 << 10,
        disk_bytes: 16 << 20,
    }
}

/// A directory through which other users can pass.
fn open_directory() -> TempDir {
    let directory = TempDir::new().expect("can write in temp");
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).expect("it is ours");
    directory
}

fn text(ran: &Ran) -> String {
    String::from_utf8_lossy(&ran.output).into_owned()
}

/// Processes whose command line holds `marker`.
fn processes_with(marker: &str) -> usize {
    let own = std::process::id().to_string();
    fs::read_dir("/proc")
        .expect("/proc is mounted")
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name() != own.as_str())
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(marker))
        .count()
}

/// A number of seconds to sleep that no other process sleeps: it marks a job's processes in `/proc`.
fn sleep_marker() -> String {
    let nanos = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .expect("the clock is past 1970")
        .subsec_nanos();
    let thread = format!("{:?}", thread::current().id()).replace(|c: char| !c.is_ascii_digit(), "");
    format!("7777.{}{thread}{nanos}", std::process::id())
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "not within 60 s: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Directories of the executors that used `spool`, anywhere in the control group trees.
fn groups_of(executors: &[String]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = open.pop() {
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        for path in entries
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
        {
            if executors
                .iter()
                .any(|name| path.file_name().is_some_and(|last| last == name.as_str()))
            {
                found.push(path.clone());
            }
            open.push(path);
        }
    }
    found
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the directory is there");
    entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}
