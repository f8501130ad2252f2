//! Taking `submission.csv` from a directory that the program filled as it liked.

use std::thread;

use journeyman_sandbox::executor::Submission;
use journeyman_schemas::execution::Verdict;

use crate::{Bench, eventually, processes_with, sleep_marker};

/// Runs a program that succeeds, and returns why its submission was refused.
fn refusal(program: &str) -> String {
    let ran = Bench::new().run(program);
    assert_eq!(ran.verdict, Verdict::Ok, "{}", crate::text(&ran));
    match ran.submission {
        Submission::Refused(reason) => reason,
        other => panic!("it was not refused: {other:?}"),
    }
}

#[test]
fn symbolic_link_is_refused() {
    let reason = refusal("import os; os.symlink('/etc/passwd', 'submission.csv')");
    assert_eq!(reason, "submission.csv: it is a symbolic link");
}

#[test]
fn symbolic_link_within_the_directory_is_refused() {
    let reason = refusal("import os; open('x', 'w').write('id'); os.symlink('x', 'submission.csv')");
    assert_eq!(reason, "submission.csv: it is a symbolic link");
}

#[test]
fn hard_link_is_refused() {
    let reason = refusal("import os; open('x', 'w').write('id'); os.link('x', 'submission.csv')");
    assert_eq!(reason, "submission.csv: it has 2 names (hard links)");
}

#[test]
fn hard_link_to_other_files_cannot_be_made() {
    let ran = Bench::new().run(
        "import os
for target in ['data/train.csv', '/usr/bin/env', '/program/program.py']:
    try: os.link(target, 'submission.csv')
    except OSError: print('refused')
",
    );
    assert_eq!(crate::text(&ran), "refused\nrefused\nrefused\n");
}

#[test]
fn fifo_is_refused_without_waiting() {
    assert_eq!(
        refusal("import os; os.mkfifo('submission.csv')"),
        "submission.csv: it is not a regular file"
    );
}

#[test]
fn directory_is_refused() {
    assert_eq!(
        refusal("import os; os.mkdir('submission.csv')"),
        "submission.csv: it is not a regular file"
    );
}

#[test]
fn socket_is_refused() {
    let reason = refusal("import socket; socket.socket(socket.AF_UNIX).bind('submission.csv')");
    assert!(
        reason.starts_with("submission.csv: it cannot be opened"),
        "{reason}"
    );
}

#[test]
fn sparse_giant_is_refused_unread() {
    let reason = refusal("open('submission.csv', 'w').truncate(8 << 20)");
    assert_eq!(
        reason,
        "submission.csv: it has 8388608 bytes and at most 1048576 are allowed"
    );
}

#[test]
fn file_beyond_the_disk_limit_cannot_be_made() {
    let ran = Bench::new().run("open('submission.csv', 'w').truncate(1 << 40)");
    assert_eq!(ran.verdict, Verdict::Error);
}

#[test]
fn directory_without_permissions_does_not_hide_a_submission_nor_stay() {
    let ran = Bench::new().run(
        "import os
os.makedirs('deep/er'); os.chmod('deep', 0)
open('submission.csv', 'w').write('id\\n'); os.chmod('submission.csv', 0o400); os.chmod('.', 0o700)
",
    );
    assert_eq!(ran.submission, Submission::Taken(b"id\n".to_vec()));
}

#[test]
fn submission_of_a_killed_program_is_still_taken() {
    let bench = Bench::new();
    let marker = sleep_marker();
    let request = bench.request(&format!(
        "import os
open('submission.csv', 'w').write('id\\n')
os.execv('/usr/bin/sleep', ['sleep', '{marker}'])
"
    ));
    let ran = thread::scope(|scope| {
        let running = scope.spawn(|| bench.executor.run(&request));
        eventually("the program has written", || processes_with(&marker) > 0);
        request.cancel.cancel();
        running
            .join()
            .expect("run does not panic")
            .expect("the sandbox itself does not fail")
    });
    assert_eq!(ran.verdict, Verdict::Killed);
    assert_eq!(ran.submission, Submission::Taken(b"id\n".to_vec()));
}
