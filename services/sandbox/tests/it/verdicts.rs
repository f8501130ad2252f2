//! How runs end, and what is measured and kept.

use std::{fs, os::unix::fs::PermissionsExt, thread, time::Instant};

use journeyman_sandbox::executor::{SandboxError, Submission};
use journeyman_schemas::execution::Verdict;

use crate::{Bench, processes_with, sleep_marker, text};

#[test]
fn sklearn_program_writes_submission_and_is_measured() {
    let ran = Bench::new().run(
        "import pandas as pd
from sklearn.ensemble import RandomForestClassifier
train, test = pd.read_csv('data/train.csv'), pd.read_csv('data/test.csv')
model = RandomForestClassifier(n_estimators=50, n_jobs=2, random_state=0).fit(train[['x']], train['y'])
pd.DataFrame({'id': test['id'], 'y': model.predict(test[['x']])}).to_csv('submission.csv', index=False)
print('done')
",
    );
    assert_eq!((ran.verdict, text(&ran).as_str()), (Verdict::Ok, "done\n"));
    assert_eq!(ran.submission, Submission::Taken(b"id,y\n5,0\n6,1\n".to_vec()));
    assert_eq!((ran.exit_code, ran.signal, ran.stopped), (Some(0), None, None));
    assert!(
        ran.cpu_s > 0.2 && ran.wall_s > 0.2,
        "cpu {} wall {}",
        ran.cpu_s,
        ran.wall_s
    );
}

#[test]
fn exit_status_is_error_with_code() {
    let ran = Bench::new().run("import sys; print('bye'); sys.exit(3)");
    assert_eq!(
        (ran.verdict, ran.exit_code, ran.signal),
        (Verdict::Error, Some(3), None)
    );
    assert_eq!(text(&ran), "bye\n");
    assert_eq!(ran.submission, Submission::Missing);
}

#[test]
fn exception_is_error_with_traceback_in_order() {
    let ran = Bench::new().run("print('before')\n1 / 0\n");
    assert_eq!((ran.verdict, ran.exit_code), (Verdict::Error, Some(1)));
    let output = text(&ran);
    assert!(output.starts_with("before\nTraceback"), "{output}");
    assert!(output.contains("program.py\", line 2"), "{output}");
}

#[test]
fn own_signal_is_error_with_signal() {
    let ran = Bench::new().run("import os; os.kill(os.getpid(), 11)");
    assert_eq!(
        (ran.verdict, ran.exit_code, ran.signal),
        (Verdict::Error, None, Some(11))
    );
}

#[test]
fn wall_limit_with_signals_ignored_is_timeout() {
    let ran = Bench::new().run_within(
        "import signal
for number in range(1, 32):
    if number not in (9, 19):
        signal.signal(number, signal.SIG_IGN)
print('ignoring', flush=True)
while True: pass
",
        |limits| limits.wall_s = 4.0,
    );
    assert_eq!((ran.verdict, ran.stopped), (Verdict::Timeout, Some("wall")));
    assert_eq!((ran.exit_code, ran.signal), (None, None));
    assert!((4.0..14.0).contains(&ran.wall_s), "wall {}", ran.wall_s);
    assert!(
        ran.cpu_s > 0.1,
        "the CPU time of a killed tree is counted: {}",
        ran.cpu_s
    );
    assert_eq!(text(&ran), "ignoring\n");
}

#[test]
fn memory_hog_is_out_of_memory() {
    let ran = Bench::new().run_within(
        "blocks = []\nwhile True: blocks.append(bytearray(b'x') * (4 << 20))\n",
        |limits| limits.memory_bytes = 96 << 20,
    );
    assert_eq!(ran.verdict, Verdict::OutOfMemory, "{}", text(&ran));
}

#[test]
fn files_in_memory_count_as_memory() {
    let bench = Bench::new();
    let ran = bench.run_within(
        "with open('/dev/shm/file', 'wb') as file:\n    while True: file.write(b'x' * (4 << 20))\n",
        |limits| (limits.memory_bytes, limits.disk_bytes) = (64 << 20, 256 << 20),
    );
    let expected = if bench.is_full() {
        Verdict::OutOfMemory
    } else {
        Verdict::Error
    };
    assert_eq!(ran.verdict, expected, "{}", text(&ran));
}

#[test]
fn worker_killed_for_memory_in_a_program_that_recovers_is_ok() {
    let bench = Bench::new();
    let ran = bench.run_within(
        "import os
child = os.fork()
if child == 0:
    blocks = []
    while True: blocks.append(bytearray(b'x') * (4 << 20))
print(os.waitpid(child, 0)[1])
",
        |limits| limits.memory_bytes = 96 << 20,
    );
    if bench.is_full() {
        assert_eq!((ran.verdict, text(&ran).as_str()), (Verdict::Ok, "9\n"));
    }
}

#[test]
fn fork_bomb_is_contained() {
    let marker = sleep_marker();
    let ran = Bench::new().run_within(
        &format!(
            "import os, time
refused = 0
for _ in range(200):
    try:
        if os.fork() == 0:
            os.execv('/usr/bin/sleep', ['sleep', '{marker}'])
    except OSError:
        refused += 1
print('refused', refused)
"
        ),
        |limits| limits.pids = 16,
    );
    assert!(
        text(&ran).contains("refused 1") || ran.verdict == Verdict::Killed,
        "{ran:?}"
    );
    assert_eq!(processes_with(&marker), 0);
}

#[test]
fn disk_filler_meets_the_size_everywhere() {
    let bench = Bench::new();
    let ran = bench.run_within(
        "import os
for place in ['/work/a', '/tmp/a', '/dev/shm/a']:
    try:
        with open(place, 'wb') as file:
            for _ in range(64): file.write(b'x' * (1 << 20))
        print(place, 'unlimited')
    except OSError as error:
        print(place, error.strerror)
    os.remove(place)
try:
    for number in range(200_000): open(f'/work/{number}', 'w').close()
    print('files unlimited')
except OSError as error:
    print('files', error.strerror)
",
        |limits| limits.disk_bytes = 4 << 20,
    );
    let output = text(&ran);
    assert!(
        !output.contains("/tmp/a unlimited") && !output.contains("shm/a unlimited"),
        "{output}"
    );
    if bench.is_full() {
        assert_eq!(output.lines().count(), 4, "{output}");
        assert!(!output.contains("unlimited"), "{output}");
    }
}

#[test]
fn output_flood_is_killed_and_capped() {
    let ran = Bench::new().run_within("while True: print('y' * 1000)", |limits| {
        limits.output_bytes = 1000
    });
    assert_eq!((ran.verdict, ran.stopped), (Verdict::Killed, Some("output")));
    assert!(ran.output.len() < 1100, "{} bytes kept", ran.output.len());
    assert!(
        ran.output_total_bytes > 8 << 20,
        "{} bytes came",
        ran.output_total_bytes
    );
}

#[test]
fn long_output_keeps_head_tail_and_wanted_lines() {
    let bench = Bench::new();
    let mut request = bench.request(
        "print('head')
for number in range(5000): print('noise', number)
print('N0NCE trained_model')
for number in range(5000): print('noise', number)
print('tail')
",
    );
    request.limits.output_bytes = 2000;
    request.keep_lines = Some("N0NCE ".to_owned());
    let ran = bench
        .executor
        .run(&request)
        .expect("the sandbox itself does not fail");
    let output = text(&ran);
    assert!(
        output.starts_with("head\n") && output.ends_with("tail\n"),
        "{output}"
    );
    assert!(
        output.contains("\nN0NCE trained_model\n") && output.len() < 2200,
        "{output}"
    );
}

#[test]
fn daemon_that_holds_the_output_dies_and_does_not_delay() {
    let bench = Bench::new();
    let marker = sleep_marker();
    let begun = Instant::now();
    let ran = bench.run(&format!(
        "import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv('/usr/bin/sleep', ['sleep', '{marker}'])
    os._exit(0)
os.wait()
print('parent done')
"
    ));
    assert_eq!((ran.verdict, text(&ran).as_str()), (Verdict::Ok, "parent done\n"));
    assert!(begun.elapsed().as_secs_f64() < 60.0, "{:?}", begun.elapsed());
    assert_eq!(processes_with(&marker), 0);
}

#[test]
fn cancelled_run_is_killed() {
    let bench = Bench::new();
    let marker = sleep_marker();
    let request = bench.request(&format!(
        "import os; os.execv('/usr/bin/sleep', ['sleep', '{marker}'])"
    ));
    let ran = thread::scope(|scope| {
        let running = scope.spawn(|| bench.executor.run(&request));
        crate::eventually("the program runs", || processes_with(&marker) > 0);
        request.cancel.cancel();
        running
            .join()
            .expect("run does not panic")
            .expect("the sandbox itself does not fail")
    });
    assert_eq!((ran.verdict, ran.stopped), (Verdict::Killed, Some("cancelled")));
}

#[test]
fn processes_threads_and_pools_work() {
    let ran = Bench::new().run(
        "import multiprocessing, subprocess, threading
import numpy as np
from joblib import Parallel, delayed
def square(x): return x * x
if __name__ == '__main__':
    with multiprocessing.Pool(2) as pool: print(pool.map(square, [1, 2, 3]))
    print(Parallel(n_jobs=2)(delayed(square)(x) for x in range(4)))
    print(subprocess.run(['echo', 'shell'], capture_output=True, text=True).stdout.strip())
    thread = threading.Thread(target=print, args=('thread',)); thread.start(); thread.join()
    print(int((np.ones((300, 300)) @ np.ones((300, 300))).sum()))
    print(repr(open('/dev/stdin').read()))
",
    );
    let expected = "[1, 4, 9]\n[0, 1, 4, 9]\nshell\nthread\n27000000\n''\n";
    assert_eq!((ran.verdict, text(&ran).as_str()), (Verdict::Ok, expected));
}

#[test]
fn limit_that_makes_no_sense_is_named() {
    let bench = Bench::new();
    let mut request = bench.request("pass");
    request.limits.wall_s = f64::NAN;
    let error = bench.executor.run(&request).expect_err("NaN is no limit");
    assert_eq!(
        error.to_string(),
        "limit `wall_s` is `NaN`: it must be above 0 and at most a week"
    );
}

#[test]
fn data_directory_that_cannot_be_shown_is_named() {
    let bench = Bench::new();
    let mut request = bench.request("pass");
    request.data_dir = bench.files.path().join("nowhere");
    let error = bench
        .executor
        .run(&request)
        .expect_err("there is no such directory");
    assert!(
        matches!(&error, SandboxError::Data { path, .. } if path.ends_with("nowhere")),
        "{error}"
    );
    if bench.is_full() {
        let closed = fs::Permissions::from_mode(0o700);
        fs::set_permissions(bench.data_dir(), closed).expect("it is ours");
        let error = bench
            .executor
            .run(&bench.request("pass"))
            .expect_err("jobs' users cannot enter");
        assert!(error.to_string().contains("cannot pass through"), "{error}");
    }
}
