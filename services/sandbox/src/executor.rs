//! Runs one program in a sandbox and says what came of it. Knows nothing of queues and stores.
//!
//! Inside, a program finds: `/work`, its current and only lasting writable directory; the task's public files,
//! read-only, in `/work/data`; itself in `/program/program.py`; the system's libraries and one Python environment,
//! read-only; an empty `/tmp` and `/dev/shm`. No network, no other process, none of our environment.

mod bwrap;
mod cgroup;
mod collect;
mod job;
mod output;
mod seccomp;
mod spawner;
mod spool;
mod supervise;
mod uids;
mod watch;

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use journeyman_schemas::execution::{IsolationLevel, Limits, Verdict};
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

pub use collect::Submission;

/// Processes of bubblewrap itself that stand in a job's tree.
const WRAPPER_TASKS: u32 = 2;

/// Where and how programs are run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutorConfig {
    /// The program `bwrap`, 0.8 or newer.
    pub bwrap: PathBuf,
    /// The Python environment of programs: a venv that every user can read, with `bin/python3`.
    pub python: PathBuf,
    /// Where jobs have their files while they run. Every user must be able to pass through it.
    pub spool: PathBuf,
    /// Below this level nothing is run.
    pub minimum_level: IsolationLevel,
    /// First user id given to jobs, when run as root.
    pub first_uid: u32,
    /// How many user ids there are for jobs: the most jobs at once on a machine.
    pub uids: u32,
    /// Threads that numerical libraries start by default in one program.
    pub threads: u32,
    /// Largest submission taken, bytes.
    pub submission_bytes: u64,
    /// Output after which a program is killed, bytes. What is kept is set by each job's limits.
    pub flood_bytes: u64,
}

/// One program to run.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its source.
    pub program: Vec<u8>,
    /// The task's public files.
    pub data_dir: PathBuf,
    /// What it may use.
    pub limits: Limits,
    /// Lines of output that start with this are kept even from the part that is left out, each once.
    pub keep_lines: Option<String>,
    /// Ends it with the verdict `killed`.
    pub cancel: CancellationToken,
}

/// What came of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// How it ended.
    pub verdict: Verdict,
    /// Which limit ended it, for people; none when it ended by itself.
    pub stopped: Option<&'static str>,
    /// Exit status, when it exited.
    pub exit_code: Option<i32>,
    /// Signal, when one ended it. A status above 128 is taken for a signal, as shells do.
    pub signal: Option<i32>,
    /// Wall-clock seconds from the start of its sandbox to its end.
    pub wall_s: f64,
    /// CPU seconds of its whole tree.
    pub cpu_s: f64,
    /// Most memory that its tree held, bytes, where a control group counts it.
    pub memory_peak_bytes: Option<u64>,
    /// stdout and stderr as they came, head and tail.
    pub output: Vec<u8>,
    /// Bytes of output that came.
    pub output_total_bytes: u64,
    /// Its submission.
    pub submission: Submission,
    /// Processes that were there when all should have been dead; they are dead now. 0, if all is well.
    pub leftover_processes: usize,
    /// How strongly it was walled in.
    pub isolation: IsolationLevel,
}

/// Our own failure, never the program's.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// This machine cannot run programs in isolation at all.
    #[error("programs cannot be run here: {reason}")]
    Unavailable {
        /// What is missing and how to mend it.
        reason: String,
    },
    /// This machine isolates less than the configuration asks for.
    #[error(
        "isolation level is `{level:?}` and `minimum_level` asks for `{minimum:?}`; missing: {}",
        missing.join("; ")
    )]
    BelowMinimum {
        /// What there is.
        level: IsolationLevel,
        /// What is asked for.
        minimum: IsolationLevel,
        /// What is missing to `full`.
        missing: Vec<String>,
    },
    /// A limit that makes no sense.
    #[error("limit `{field}` is `{value}`: it must be {allowed}")]
    Limit {
        /// Its name.
        field: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The task's files cannot be shown to the program.
    #[error("data directory `{}`: {reason}", path.display())]
    Data {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Every user id for jobs is taken.
    #[error("all {count} user ids from {first} on are taken by running jobs")]
    NoFreeUid {
        /// First id of the range.
        first: u32,
        /// Size of the range.
        count: u32,
    },
    /// Bubblewrap did not get as far as starting the program.
    #[error("bubblewrap failed: {message}")]
    Wrapper {
        /// What it said.
        message: String,
    },
    /// An operation on the machine failed.
    #[error("could not {operation}")]
    Io {
        /// What was tried.
        operation: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

/// Runs programs. Several threads may run one each at the same time.
pub struct Executor {
    config: ExecutorConfig,
    level: IsolationLevel,
    missing: Vec<String>,
    hierarchies: cgroup::Hierarchies,
    spawner: spawner::Spawner,
    filters: seccomp::Filters,
    /// Ids for jobs; none when we are not root and cannot change user.
    uids: Option<uids::UidRange>,
    swept: usize,
    /// Last, as its lock says to others that all of the above is in use.
    spool: spool::Spool,
}

impl Executor {
    /// Probes the machine, removes what killed executors left in the same spool, and runs a trial program.
    pub fn new(config: ExecutorConfig) -> Result<Executor, SandboxError> {
        bwrap::check(&config.bwrap).map_err(|reason| SandboxError::Unavailable { reason })?;
        let interpreter = bwrap::interpreter(&config.python);
        if !interpreter.exists() {
            let reason = format!("`{}` is not there; run `make setup`", interpreter.display());
            return Err(SandboxError::Unavailable { reason });
        }
        // Processes whose wrapper died come to us to be reaped, also where process 1 reaps nothing.
        nix::sys::prctl::set_child_subreaper(true)
            .map_err(|error| failed("become the reaper of jobs")(error.into()))?;
        let root = geteuid().is_root();
        let mut missing = Vec::new();
        if !root {
            missing.push("a user id of its own for each job: needs root".to_owned());
        }
        let spool = spool::Spool::open(&config.spool).map_err(failed("open the spool"))?;
        let hierarchies = cgroup::Hierarchies::probe(spool.name(), &mut missing);
        let spawner = spawner::Spawner::start(root, &mut missing)
            .map_err(failed("start the thread that starts jobs"))?;
        let filters = seccomp::Filters::compile().map_err(|error| SandboxError::Unavailable {
            reason: format!("no system call filter for this machine: {error}"),
        })?;
        let level = if root && hierarchies.limits() {
            IsolationLevel::Full
        } else {
            IsolationLevel::Namespaces
        };
        let uids = root.then_some(uids::UidRange {
            first: config.first_uid,
            count: config.uids,
        });
        let mut executor = Executor {
            config,
            level,
            missing,
            hierarchies,
            spawner,
            filters,
            uids,
            swept: 0,
            spool,
        };
        if level < executor.config.minimum_level {
            let (minimum, missing) = (executor.config.minimum_level, executor.missing.clone());
            return Err(SandboxError::BelowMinimum {
                level,
                minimum,
                missing,
            });
        }
        if root {
            for path in [&executor.config.spool, &executor.config.python] {
                if let Some(part) = spool::closed_to_others(path).map_err(failed("examine directories"))? {
                    let reason = format!(
                        "jobs' users cannot pass through `{}` on the way to `{}`; run `chmod o+x {0}`",
                        part.display(),
                        path.display()
                    );
                    return Err(SandboxError::Unavailable { reason });
                }
            }
        }
        executor.swept = executor.sweep()?;
        executor.try_out()?;
        Ok(executor)
    }

    /// How strongly programs are walled in here.
    pub fn level(&self) -> IsolationLevel {
        self.level
    }

    /// What is missing to a stronger level, for people.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Jobs of killed executors whose remains were removed at the start.
    pub fn swept(&self) -> usize {
        self.swept
    }

    /// Runs a program to its end; blocks meanwhile. When it returns, no process, file, group or user id of the job
    /// is left.
    pub fn run(&self, request: &Request) -> Result<Ran, SandboxError> {
        check_limits(&request.limits)?;
        self.check_data(&request.data_dir)?;
        let uid = match self.uids {
            Some(range) => Some(range.take().map_err(failed("take a user id"))?.ok_or(
                SandboxError::NoFreeUid {
                    first: range.first,
                    count: range.count,
                },
            )?),
            None => None,
        };
        let bounds = Bounds {
            memory_bytes: request.limits.memory_bytes,
            pids: request.limits.pids.saturating_add(WRAPPER_TASKS),
            disk_bytes: request.limits.disk_bytes,
        };
        let directory = self.spool.job().map_err(failed("make the job's directory"))?;
        let group = self
            .hierarchies
            .create(&directory.name, &bounds)
            .map_err(failed("make the job's control group"))?;
        let job = job::Job {
            executor: self,
            request,
            bounds,
            uid: uid.as_ref().map(|uid| uid.uid),
            directory,
            group,
        };
        job.run()
    }

    /// Removes what dead executors left behind. Returns how many jobs they had.
    fn sweep(&self) -> Result<usize, SandboxError> {
        let mut jobs = 0;
        for dead in self
            .spool
            .dead()
            .map_err(failed("look for the remains of killed executors"))?
        {
            jobs += self.hierarchies.sweep(&dead);
            self.spool
                .remove(&dead)
                .map_err(failed("remove the remains of a killed executor"))?;
            tracing::warn!(executor = dead, jobs, "removed the remains of a killed executor");
        }
        Ok(jobs)
    }

    fn try_out(&self) -> Result<(), SandboxError> {
        let place = self.spool.job().map_err(failed("make the trial's directory"))?;
        let data_dir = place.path.join("data");
        fs::create_dir(&data_dir).map_err(failed("make the trial's directory"))?;
        fs::set_permissions(&data_dir, Permissions::from_mode(0o755))
            .map_err(failed("make the trial's directory"))?;
        let ran = self.run(&Request {
            program: b"print('alive')\n".to_vec(),
            data_dir,
            limits: Limits {
                wall_s: 30.0,
                memory_bytes: 256 << 20,
                pids: 16,
                output_bytes: 4096,
                disk_bytes: 1 << 20,
            },
            keep_lines: None,
            cancel: CancellationToken::new(),
        })?;
        if ran.verdict == Verdict::Ok && ran.output == b"alive\n" {
            return Ok(());
        }
        let output = String::from_utf8_lossy(&ran.output).trim().to_owned();
        let reason = format!(
            "a trial program ended with `{}` and printed `{output}`",
            ran.verdict.as_str()
        );
        Err(SandboxError::Unavailable { reason })
    }

    fn check_data(&self, data_dir: &Path) -> Result<(), SandboxError> {
        let problem = |reason| SandboxError::Data {
            path: data_dir.to_path_buf(),
            reason,
        };
        let metadata = fs::metadata(data_dir).map_err(|error| problem(error.to_string()))?;
        if !metadata.is_dir() {
            return Err(problem("it is not a directory".to_owned()));
        }
        if self.uids.is_some() {
            let closed = spool::closed_to_others(data_dir).map_err(|error| problem(error.to_string()))?;
            if let Some(part) = closed {
                return Err(problem(format!(
                    "jobs' users cannot pass through `{}`",
                    part.display()
                )));
            }
        }
        Ok(())
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.hierarchies.remove();
    }
}

/// What a job's tree is held to by the machine.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    memory_bytes: u64,
    pids: u32,
    disk_bytes: u64,
}

fn failed(operation: &'static str) -> impl Fn(io::Error) -> SandboxError {
    move |source| SandboxError::Io { operation, source }
}

fn check_limits(limits: &Limits) -> Result<(), SandboxError> {
    let wrong = |field, value: String, allowed| {
        Err(SandboxError::Limit {
            field,
            value,
            allowed,
        })
    };
    if !(limits.wall_s > 0.0 && limits.wall_s <= 7.0 * 86_400.0) {
        return wrong("wall_s", limits.wall_s.to_string(), "above 0 and at most a week");
    }
    if limits.memory_bytes < 32 << 20 {
        return wrong("memory_bytes", limits.memory_bytes.to_string(), "at least 32 MiB");
    }
    if limits.pids < 4 {
        return wrong("pids", limits.pids.to_string(), "at least 4");
    }
    if limits.disk_bytes < 64 << 10 {
        return wrong("disk_bytes", limits.disk_bytes.to_string(), "at least 64 KiB");
    }
    Ok(())
}
