//! Watches a job to its end and kills all of it.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    path::Path,
    process::{Child, ExitStatus},
    time::{Duration, Instant},
};

use nix::{
    libc,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio_util::sync::CancellationToken;

use super::{Bounds, cgroup::JobGroup, output::Capture, spawner::Launched, watch};

/// How often limits without an event of their own are looked at.
const TICK: Duration = Duration::from_millis(100);
/// How long output is waited for after all processes are dead.
const DRAIN: Duration = Duration::from_millis(500);
/// How long a killed process may take to die.
const DEATH_DEADLINE: Duration = Duration::from_secs(10);

/// Why we ended a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Wall,
    Cancelled,
    Output,
    Memory,
    Tasks,
    Disk,
}

impl Stop {
    /// The limit that was broken, for people.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Stop::Wall => "wall",
            Stop::Cancelled => "cancelled",
            Stop::Output => "output",
            Stop::Memory => "memory",
            Stop::Tasks => "pids",
            Stop::Disk => "disk",
        }
    }
}

/// What a job may do and who may stop it.
pub(super) struct Rules<'a> {
    pub(super) wall: Duration,
    pub(super) bounds: Bounds,
    pub(super) flood_bytes: u64,
    pub(super) cancel: &'a CancellationToken,
    /// The tree's memory and processes are counted by us, as no control group does.
    pub(super) watch_tree: bool,
    /// Files below here are counted by us, as no file system limits them.
    pub(super) watch_disk: Option<&'a Path>,
}

/// How it went.
pub(super) struct Watched {
    pub(super) stop: Option<Stop>,
    /// Exit status of the program as bubblewrap tells it; none when bubblewrap failed or was killed.
    pub(super) program_status: Option<i32>,
    pub(super) wrapper: ExitStatus,
    pub(super) wall: Duration,
    /// CPU seconds as far as we saw, for want of a better account.
    pub(super) seen_cpu_s: f64,
    /// Processes that outlived the job's pid namespace. None, if all is well.
    pub(super) leftovers: usize,
}

/// The ends of the pipes from a job.
pub(super) struct Pipes {
    pub(super) output: OwnedFd,
    pub(super) status: OwnedFd,
}

/// Watches the job until it ends or must end, kills what is left of it, and takes the rest of its output.
pub(super) fn watch_to_end(
    launched: &mut Launched,
    pipes: &Pipes,
    group: &JobGroup,
    rules: &Rules<'_>,
    capture: &mut Capture,
) -> io::Result<Watched> {
    let mut job = Job {
        inner: None,
        status: Vec::new(),
        seen_cpu_s: 0.0,
        pipes,
    };
    let wrapper = pid(&launched.child);
    let watched = job.watch(launched, rules, capture);
    let wall = launched.started.elapsed();
    // Whatever went wrong above, nothing may stay alive.
    if let Some((pid, inner)) = &job.inner
        && let Err(error) = pidfd_send_signal(inner, Signal::KILL)
    {
        tracing::trace!(%error, pid, "gone before it was killed");
    }
    drop(launched.child.kill());
    let exit = wait_dead(&mut launched.child)?;
    if let Some((_, inner)) = &job.inner {
        wait_readable(inner.as_fd(), DEATH_DEADLINE)?;
    }
    let leftovers = group.kill()?;
    let mut waited_cpu_s = children_cpu_s(&exit.usage);
    if let Some((inner, _)) = job.inner {
        waited_cpu_s += reap(inner).map_or(0.0, |usage| children_cpu_s(&usage));
    }
    let stop = watched?;
    job.read_status(&mut [0; 4096])?;
    job.drain(capture)?;
    tracing::trace!(wrapper, ?stop, ?wall, "job ended");
    let seen_cpu_s = job.seen_cpu_s.max(waited_cpu_s);
    Ok(Watched {
        stop,
        program_status: job.exit_code(),
        wrapper: exit.status,
        wall,
        seen_cpu_s,
        leftovers,
    })
}

struct Job<'a> {
    /// First process of the job's pid namespace: when it dies, the kernel kills all others.
    inner: Option<(i32, OwnedFd)>,
    status: Vec<u8>,
    seen_cpu_s: f64,
    pipes: &'a Pipes,
}

impl Job<'_> {
    fn watch(
        &mut self,
        launched: &Launched,
        rules: &Rules<'_>,
        capture: &mut Capture,
    ) -> io::Result<Option<Stop>> {
        let wrapper = open_pidfd(pid(&launched.child))?;
        let deadline = launched.started + rules.wall;
        let mut buffer = vec![0; 64 * 1024];
        let mut next_look = Instant::now() + TICK;
        let (mut output_open, mut status_open) = (true, true);
        loop {
            let now = Instant::now();
            if now >= deadline {
                self.look(rules);
                return Ok(Some(Stop::Wall));
            }
            if now >= next_look {
                if let Some(stop) = self.look(rules) {
                    return Ok(Some(stop));
                }
                next_look = Instant::now() + TICK;
            }
            let wait = deadline.min(next_look).saturating_duration_since(Instant::now());
            // An end that is closed is always ready; it is not asked about any more.
            let flags = |open| {
                if open {
                    PollFlags::POLLIN
                } else {
                    PollFlags::empty()
                }
            };
            let output_end = if output_open { &self.pipes.output } else { &wrapper };
            let status_end = if status_open { &self.pipes.status } else { &wrapper };
            let mut ends = [
                PollFd::new(wrapper.as_fd(), PollFlags::POLLIN),
                PollFd::new(output_end.as_fd(), flags(output_open)),
                PollFd::new(status_end.as_fd(), flags(status_open)),
            ];
            wait_any(&mut ends, wait)?;
            let ready = ends.map(|end| end.any().unwrap_or(false));
            if status_open && ready[2] {
                status_open = self.read_status(&mut buffer)?;
            }
            if output_open && ready[1] {
                output_open = read_some(&self.pipes.output, &mut buffer, |bytes| capture.push(bytes))?;
                if capture.total() > rules.flood_bytes {
                    return Ok(Some(Stop::Output));
                }
            }
            if ready[0] {
                return Ok(None);
            }
        }
    }

    /// Looks at what nothing tells us about.
    fn look(&mut self, rules: &Rules<'_>) -> Option<Stop> {
        if rules.cancel.is_cancelled() {
            return Some(Stop::Cancelled);
        }
        if rules.watch_tree
            && let Some((pid, _)) = &self.inner
        {
            let usage = watch::tree(*pid);
            // What is killed is never waited for by its parent: this is the only account of it.
            self.seen_cpu_s = self.seen_cpu_s.max(usage.cpu_s);
            if usage.memory_bytes > rules.bounds.memory_bytes {
                return Some(Stop::Memory);
            }
            if usage.tasks > u64::from(rules.bounds.pids) {
                return Some(Stop::Tasks);
            }
        }
        let disk = rules.watch_disk.map_or(0, watch::disk_bytes);
        (disk > rules.bounds.disk_bytes).then_some(Stop::Disk)
    }

    /// Reads what bubblewrap says about itself. Returns whether it may say more.
    fn read_status(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let status = &mut self.status;
        let open = read_some(&self.pipes.status, buffer, |bytes| {
            status.extend_from_slice(bytes)
        })?;
        if self.inner.is_none()
            && let Some(inner) = self.status_number("child-pid")
        {
            // One that is dead already needs no killing.
            self.inner = open_pidfd(inner).ok().map(|file| (inner, file));
        }
        Ok(open)
    }

    fn exit_code(&self) -> Option<i32> {
        self.status_number("exit-code")
    }

    fn status_number(&self, name: &str) -> Option<i32> {
        serde_json::Deserializer::from_slice(&self.status)
            .into_iter::<serde_json::Value>()
            .map_while(Result::ok)
            .find_map(|document| i32::try_from(document.get(name)?.as_i64()?).ok())
    }

    /// Takes what is left in the output pipe. All writers are dead, so its end comes at once; the deadline is for
    /// what we did not think of.
    fn drain(&self, capture: &mut Capture) -> io::Result<()> {
        let deadline = Instant::now() + DRAIN;
        let mut buffer = vec![0; 64 * 1024];
        while Instant::now() < deadline {
            wait_readable(self.pipes.output.as_fd(), DRAIN)?;
            if !read_some(&self.pipes.output, &mut buffer, |bytes| capture.push(bytes))? {
                break;
            }
        }
        Ok(())
    }
}

/// Reads once. Returns whether more can come.
fn read_some(file: &OwnedFd, buffer: &mut [u8], take: impl FnOnce(&[u8])) -> io::Result<bool> {
    match rustix::io::read(file, &mut *buffer) {
        Ok(0) => Ok(false),
        Ok(count) => {
            take(&buffer[..count]);
            Ok(true)
        }
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

fn wait_any(ends: &mut [PollFd<'_>], wait: Duration) -> io::Result<()> {
    // Rounded up: a wait cut to 0 ms would spin until the deadline.
    let millis = wait.as_micros().div_ceil(1000).min(1000);
    let timeout = PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX);
    match poll(ends, timeout) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Waits until a pidfd's process is dead or a pipe has something; no error when the time is over.
fn wait_readable(file: std::os::fd::BorrowedFd<'_>, limit: Duration) -> io::Result<()> {
    let deadline = Instant::now() + limit;
    loop {
        let mut ends = [PollFd::new(file, PollFlags::POLLIN)];
        wait_any(&mut ends, deadline.saturating_duration_since(Instant::now()))?;
        if ends[0].any().unwrap_or(false) || Instant::now() >= deadline {
            return Ok(());
        }
    }
}

struct Exit {
    status: ExitStatus,
    usage: libc::rusage,
}

fn wait_dead(child: &mut Child) -> io::Result<Exit> {
    use std::os::unix::process::ExitStatusExt;
    wait_readable(open_pidfd(pid(child))?.as_fd(), DEATH_DEADLINE)?;
    match wait(pid(child)) {
        Some((status, usage)) => Ok(Exit {
            status: ExitStatus::from_raw(status),
            usage,
        }),
        None => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "bubblewrap outlived SIGKILL",
        )),
    }
}

/// Reaps the job's first process, which the kernel gave us when bubblewrap died.
fn reap(pid: i32) -> Option<libc::rusage> {
    wait(pid).map(|(_, usage)| usage)
}

/// Status and use of a dead child; none when it is not dead or not ours.
fn wait(pid: i32) -> Option<(i32, libc::rusage)> {
    let mut status = 0;
    #[expect(unsafe_code, reason = "no safe form of wait4 returns the resources used")]
    // SAFETY: all-zero is a valid `rusage`, and both pointers are to live locals.
    let (reaped, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (
            libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage),
            usage,
        )
    };
    (reaped == pid).then_some((status, usage))
}

fn children_cpu_s(usage: &libc::rusage) -> f64 {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn pid(child: &Child) -> i32 {
    // Process ids are positive and below 2^22.
    child.id() as i32
}

fn open_pidfd(pid: i32) -> io::Result<OwnedFd> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}
