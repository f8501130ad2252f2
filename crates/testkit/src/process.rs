//! A child process that does not outlive its test.

use std::{
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use nix::{
    sys::{
        prctl,
        signal::{Signal, kill},
    },
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
        let child = spawn(command).with_context(|| format!("can't start {name}"))?;
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

type Order = (Command, Sender<std::io::Result<Child>>);

/// Spawns from a thread that lives as long as the process: the kernel ties "kill me when my parent dies" to the
/// parent's thread, and a test's thread ends with its test.
fn spawn(command: Command) -> std::io::Result<Child> {
    static SPAWNER: OnceLock<Sender<Order>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (orders, inbox): (Sender<Order>, Receiver<Order>) = channel();
        thread::spawn(move || {
            for (mut command, answer) in inbox {
                die_with_parent(&mut command);
                // Who ordered may be gone, then nobody wants the answer.
                drop(answer.send(command.spawn()));
            }
        });
        orders
    });
    let (answer, child) = channel();
    let gone = || std::io::Error::other("the spawner thread is gone");
    spawner.send((command, answer)).map_err(|_| gone())?;
    child.recv().map_err(|_| gone())?
}

#[expect(
    unsafe_code,
    reason = "only a pre-exec hook can ask the kernel to end a child with its parent"
)]
fn die_with_parent(command: &mut Command) {
    let hook = || prctl::set_pdeathsig(Signal::SIGKILL).map_err(std::io::Error::from);
    // SAFETY: the hook makes one system call and neither allocates nor takes a lock.
    unsafe { command.pre_exec(hook) };
}
