//! A child lives as long as the process that ordered it: not shorter, not longer.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn child_outlives_the_thread_that_ordered_it_and_dies_with_the_process() {
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "parent", "--nocapture"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(parent.stdout.take().unwrap());
    let child = said
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("child ")?.parse().ok())
        .expect("the parent says its child's id");
    assert!(
        is_running(child),
        "the child died with the thread that ordered it"
    );

    parent.kill().unwrap();
    parent.wait().unwrap();

    let begun = Instant::now();
    while is_running(child) {
        assert!(begun.elapsed() < PATIENCE, "the child outlives its parent");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a child from a thread that ends, says its id, and waits to be killed.
#[test]
#[ignore = "the test above runs it in a process of its own"]
fn parent() {
    let ordered = thread::spawn(|| {
        let mut command = Command::new("sleep");
        command.arg("600").stdin(Stdio::null()).stdout(Stdio::null());
        journeyman_children::spawn(command).unwrap().id()
    });
    writeln!(std::io::stdout(), "\nchild {}", ordered.join().unwrap()).unwrap();
    thread::sleep(Duration::from_secs(600));
}

/// Whether it is there and no zombie.
fn is_running(id: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
