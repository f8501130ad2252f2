//! Runs one program as the sandbox does, without queue and store, and prints what came of it as JSON.
//!
//! `journeyman-execute HOME SPOOL PROGRAM.py DATA_DIR [WALL_S [TIMES [LEVEL]]]`, where HOME is the data home with the
//! `python` environment in it. For operators who try a machine out, and for tests that need an executor to kill.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal"
)]

use std::{env, fs, path::PathBuf, time::Instant};

use anyhow::Context as _;
use journeyman_sandbox::executor::{Executor, ExecutorConfig, Request, Submission};
use journeyman_schemas::execution::Limits;
use tokio_util::sync::CancellationToken;

fn main() -> anyhow::Result<()> {
    let mut words = env::args().skip(1);
    let mut word = |name: &str| {
        words
            .next()
            .with_context(|| format!("argument {name} is missing"))
    };
    let home = PathBuf::from(word("HOME")?);
    let spool = PathBuf::from(word("SPOOL")?);
    let program = fs::read(word("PROGRAM.py")?)?;
    let data_dir = PathBuf::from(word("DATA_DIR")?);
    let wall_s = word("WALL_S").map_or(Ok(60.0), |text| text.parse())?;
    let times = word("TIMES").map_or(Ok(1), |text| text.parse())?;
    let level = word("LEVEL").unwrap_or_else(|_| "namespaces".to_owned());
    let executor = Executor::new(ExecutorConfig {
        bwrap: "/usr/bin/bwrap".into(),
        python: home.join("python"),
        spool,
        minimum_level: serde_json::from_value(level.into())?,
        first_uid: 61_000,
        uids: 64,
        threads: 1,
        submission_bytes: 64 << 20,
        flood_bytes: 64 << 20,
    })?;
    eprintln!(
        "level {:?}, swept {}, missing: {:?}",
        executor.level(),
        executor.swept(),
        executor.missing()
    );
    let request = Request {
        program,
        data_dir,
        limits: Limits {
            wall_s,
            memory_bytes: 2 << 30,
            pids: 64,
            output_bytes: 64 << 10,
            disk_bytes: 64 << 20,
        },
        keep_lines: None,
        cancel: CancellationToken::new(),
    };
    for _ in 0..times {
        let asked = Instant::now();
        let ran = executor.run(&request)?;
        let submission = match &ran.submission {
            Submission::Missing => serde_json::json!(null),
            Submission::Taken(bytes) => serde_json::json!({ "bytes": bytes.len() }),
            Submission::Refused(reason) => serde_json::json!({ "refused": reason }),
        };
        println!(
            "{}",
            serde_json::json!({
                "verdict": ran.verdict,
                "stopped": ran.stopped,
                "exit_code": ran.exit_code,
                "signal": ran.signal,
                "wall_s": ran.wall_s,
                "cpu_s": ran.cpu_s,
                "call_s": asked.elapsed().as_secs_f64(),
                "memory_peak_bytes": ran.memory_peak_bytes,
                "output": String::from_utf8_lossy(&ran.output),
                "submission": submission,
            })
        );
    }
    Ok(())
}
