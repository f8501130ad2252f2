//! Nothing is left: after jobs, after executors, after killed executors.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use journeyman_sandbox::executor::Executor;
use journeyman_schemas::execution::Verdict;

use crate::{Bench, config, eventually, groups_of, names_in, open_directory, processes_with, sleep_marker};

#[test]
fn fifty_timed_out_jobs_leave_nothing() {
    const WORKERS: usize = 8;
    // As many user ids as workers: one that was not given back would fail a later job.
    let bench = Bench::with(|config| (config.first_uid, config.uids) = (62_000, WORKERS as u32));
    let marker = sleep_marker();
    let mut request = bench.request(&format!(
        "import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        os.execv('/usr/bin/sleep', ['sleep', '{marker}'])
while True: pass
"
    ));
    request.limits.wall_s = 0.5;
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (bench, request) = (&bench, &request);
            scope.spawn(move || {
                for _ in (worker..50).step_by(WORKERS) {
                    let ran = bench
                        .executor
                        .run(request)
                        .expect("the sandbox itself does not fail");
                    assert_eq!(ran.verdict, Verdict::Timeout);
                }
            });
        }
    });
    assert_eq!(processes_with(&marker), 0);
    let spool = bench.files.path().join("spool");
    let executors = names_in(&spool);
    assert_eq!(executors.len(), 1);
    assert_eq!(names_in(&spool.join(&executors[0])), ["lock"]);
    assert_eq!(mounts_below(&spool), Vec::<String>::new());
    for group in groups_of(&executors) {
        let jobs: Vec<PathBuf> = fs::read_dir(&group)
            .expect("the group is there")
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect();
        assert_eq!(jobs, Vec::<PathBuf>::new());
    }
    drop(bench.executor);
    assert_eq!(names_in(&spool), Vec::<String>::new());
    assert_eq!(groups_of(&executors), Vec::<PathBuf>::new());
}

#[test]
fn killed_executor_leaves_no_orphan_and_its_successor_cleans_up() {
    let files = open_directory();
    let (spool, marker) = (files.path().join("spool"), sleep_marker());
    let mut victim = execute(
        files.path(),
        &spool,
        &format!("import subprocess; subprocess.run(['sleep', '{marker}'])"),
    )
    .spawn()
    .expect("it was copied");
    eventually("the program runs", || processes_with(&marker) > 0);
    let executors = names_in(&spool);
    victim.kill().expect("it runs");
    victim.wait().expect("it is ours");
    eventually("the program is dead", || processes_with(&marker) == 0);
    let successor = Executor::new(config(spool.clone())).expect("this machine runs programs in isolation");
    assert_eq!(groups_of(&executors), Vec::<PathBuf>::new());
    let left: Vec<String> = names_in(&spool)
        .into_iter()
        .filter(|name| executors.contains(name))
        .collect();
    assert_eq!(left, Vec::<String>::new());
    drop(successor);
}

#[test]
fn living_executor_is_not_swept_by_another() {
    let bench = Bench::new();
    let other = Executor::new(config(bench.files.path().join("spool"))).expect("two can share a spool");
    assert_eq!(other.swept(), 0);
    assert_eq!(bench.run("print(1)").verdict, Verdict::Ok);
}

#[test]
fn ordinary_user_runs_programs_at_the_weaker_level_or_is_refused() {
    if !nix::unistd::geteuid().is_root() {
        // Every other test runs as an ordinary user already.
        return;
    }
    let files = open_directory();
    let home = files.path().join("nobody");
    fs::create_dir(&home).expect("can write in temp");
    std::os::unix::fs::chown(&home, Some(65_534), Some(65_534)).expect("we are root");
    let run = |level: &str| {
        let mut command = execute(files.path(), &home.join("spool"), "print('fine')");
        command
            .args(["30", "1", level])
            .uid(65_534)
            .gid(65_534)
            .stderr(Stdio::piped());
        let output = command.output().expect("it was copied");
        format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    };
    let weaker = run("namespaces");
    assert!(
        weaker.contains("level Namespaces") && weaker.contains("\"verdict\":\"ok\""),
        "{weaker}"
    );
    let refused = run("full");
    assert!(
        refused.contains("`minimum_level` asks for `Full`") && refused.contains("needs root"),
        "{refused}"
    );
}

/// The program `journeyman-execute` on a program, in a place that any user can reach.
fn execute(files: &Path, spool: &Path, program: &str) -> Command {
    let copy = files.join("journeyman-execute");
    if !copy.exists() {
        // By another process: a file that we have open for writing, or a child of another test has, does not start.
        let built = env!("CARGO_BIN_EXE_journeyman-execute");
        let copied = Command::new("cp")
            .arg(built)
            .arg(&copy)
            .status()
            .expect("cp is there");
        assert!(copied.success(), "it can be copied");
    }
    let (path, data) = (files.join("program.py"), files.join("data"));
    fs::write(&path, program).expect("can write in temp");
    fs::create_dir_all(&data).expect("can write in temp");
    let mut command = Command::new(copy);
    command
        .arg(journeyman_testkit::data_home())
        .args([spool, &path, &data])
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// Mount points below `directory` in any mount namespace of ours.
fn mounts_below(directory: &Path) -> Vec<String> {
    let directory = directory.display().to_string();
    let mut found = Vec::new();
    for thread in fs::read_dir("/proc/self/task")
        .expect("/proc is mounted")
        .filter_map(Result::ok)
    {
        // A thread of another test may have ended meanwhile.
        let text = fs::read_to_string(thread.path().join("mounts")).unwrap_or_default();
        found.extend(
            text.lines()
                .filter(|line| line.contains(&directory))
                .map(str::to_owned),
        );
    }
    found
}
