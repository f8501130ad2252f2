//! A process that answers lines of JSON with lines of JSON.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, bail};
use serde_json::Value;

/// A running worker; killed when dropped.
pub(super) struct Worker {
    name: String,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The first line, which a worker says of its own accord.
    pub(super) hello: Value,
}

impl Worker {
    /// Starts `command` and waits for its first line.
    ///
    /// # Errors
    /// A program that can't be started or says nothing.
    pub(super) fn start(mut command: Command) -> anyhow::Result<Self> {
        let name = format!("{}", command.get_program().display());
        // One thread for each: numerical libraries else start one per core.
        command
            .env("OMP_NUM_THREADS", "1")
            .env("OPENBLAS_NUM_THREADS", "1");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("`{name}` can't be started"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("`{name}` has no standard input or output");
        };
        let mut worker = Self {
            name,
            child,
            input,
            output: BufReader::new(output),
            hello: Value::Null,
        };
        worker.hello = worker.line()?;
        Ok(worker)
    }

    /// Says a command and waits for the answer.
    ///
    /// # Errors
    /// The worker ended; its reason is on standard error.
    pub(super) fn ask(&mut self, command: &Value) -> anyhow::Result<Value> {
        writeln!(self.input, "{command}").with_context(|| format!("`{}` has ended", self.name))?;
        self.line()
    }

    /// The most memory that it has held so far, MiB.
    ///
    /// # Errors
    /// A system without `/proc`.
    pub(super) fn peak_mib(&self) -> anyhow::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok());
        Ok(kib.context("no VmHWM in /proc")? / 1024.0)
    }

    fn line(&mut self) -> anyhow::Result<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.is_empty() {
            bail!("`{}` ended without an answer; its reason is above", self.name);
        }
        serde_json::from_str(&line).with_context(|| format!("`{}` answered `{}`", self.name, line.trim()))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended already.
        let _killed = self.child.kill();
        let _waited = self.child.wait();
    }
}
