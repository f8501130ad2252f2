//! A child process that does not outlive its test.

use std::{
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// Between two looks at a server that starts.
const PAUSE: Duration = Duration::from_millis(10);
/// A server that takes longer to start is broken.
const START: Duration = Duration::from_secs(20);

/// A running child; killed when dropped, and by the kernel when the test process dies.
pub(crate) struct Process {
    child: Child,
}

impl Process {
    /// Starts `command` without input, its output going to the test's only when `JOURNEYMAN_TEST_LOG` is set.
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let output = || {
            if std::env::var_os("JOURNEYMAN_TEST_LOG").is_some() {
                Stdio::inherit()
            } else {
                Stdio::null()
            }
        };
        command.stdin(Stdio::null()).stdout(output()).stderr(output());
        let name = format!("{command:?}");
        let child = journeyman_children::spawn(command).with_context(|| format!("can't start {name}"))?;
        Ok(Self { child })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL, and waits until it is gone.
    pub(crate) fn kill9(&mut self) {
        // An error means that it is gone already, which is what is wanted.
        drop(self.child.kill());
        drop(self.child.wait());
    }

    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        let id = i32::try_from(self.child.id()).context("process id out of range")?;
        kill(Pid::from_raw(id), signal).with_context(|| format!("can't send {signal} to {id}"))
    }

    /// Waits until `ready` gives something; fails when the child ends before that.
    pub(crate) fn wait_for<T>(&mut self, what: &str, mut ready: impl FnMut() -> Option<T>) -> Result<T> {
        let started = Instant::now();
        loop {
            if let Some(found) = ready() {
                return Ok(found);
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("{what} ended with {status} at its start; set JOURNEYMAN_TEST_LOG=1 to see why");
            }
            if started.elapsed() > START {
                bail!("{what} is not ready after {START:?}");
            }
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill9();
    }
}
