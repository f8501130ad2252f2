//! One run in progress: prepared, launched, watched, and its result put together.

use std::{
    fs::{self, Permissions},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{
            fs::{PermissionsExt, chown},
            process::ExitStatusExt,
        },
    },
    path::{Path, PathBuf},
    time::Duration,
};

use journeyman_schemas::execution::Verdict;
use rustix::pipe::{PipeFlags, pipe_with};

use super::{
    Bounds, Executor, Ran, Request, SandboxError, bwrap, cgroup, collect, failed, output, spawner, spool,
    supervise::{self, Stop},
    watch,
};

/// One run in progress.
pub(super) struct Job<'a> {
    pub(super) executor: &'a Executor,
    pub(super) request: &'a Request,
    pub(super) bounds: Bounds,
    pub(super) uid: Option<u32>,
    // The group first: its processes must be dead before the directory can go.
    pub(super) group: cgroup::JobGroup,
    pub(super) directory: spool::JobDirectory,
}

impl Job<'_> {
    pub(super) fn run(&self) -> Result<Ran, SandboxError> {
        let work = self.directory.path.join("work");
        let (read, pipes) = self.prepare(&work)?;
        let mut launched = self
            .executor
            .spawner
            .launch(pipes)
            .map_err(failed("start the program's sandbox"))?;
        let ran = self.supervise(&mut launched, &read, &work);
        drop(launched);
        let unmounted = self
            .executor
            .spawner
            .unmount(&work)
            .map_err(failed("unmount the job's files"));
        let ran = ran?;
        unmounted?;
        Ok(ran)
    }

    /// The launch, and our ends of its pipes.
    fn prepare(&self, work: &Path) -> Result<(supervise::Pipes, spawner::Launch), SandboxError> {
        let Job {
            executor,
            request,
            bounds,
            uid,
            ..
        } = self;
        let program = self.write_program().map_err(failed("write the program"))?;
        let filters = executor
            .filters
            .files()
            .map_err(failed("write the system call filter"))?;
        let (output, output_end) = pipe().map_err(failed("make a pipe"))?;
        let (status, status_end) = pipe().map_err(failed("make a pipe"))?;
        let data = request
            .data_dir
            .canonicalize()
            .map_err(failed("find the data directory"))?;
        let arguments = bwrap::Inside {
            python: &executor.config.python,
            program: &program,
            work,
            data: &data,
            threads: executor.config.threads,
            disk_bytes: bounds.disk_bytes,
            filters: &filters,
            status: &status_end,
        }
        .arguments()
        .map_err(failed("read the layout of the system"))?;
        let uncounted = !executor.hierarchies.limits() && uid.is_none();
        let launch = spawner::Launch {
            bwrap: executor.config.bwrap.clone(),
            arguments,
            work: work.to_path_buf(),
            uid: *uid,
            bounds: *bounds,
            // One user has all jobs here, so this only bounds a burst until the watcher sees it.
            user_tasks: uncounted
                .then(|| watch::own_tasks() + u64::from(bounds.pids) * u64::from(executor.config.uids)),
            groups: self
                .group
                .join_files()
                .map_err(failed("open the job's control group"))?,
            output: output_end,
            inherited: filters.into_iter().chain([status_end]).collect(),
        };
        Ok((supervise::Pipes { output, status }, launch))
    }

    fn write_program(&self) -> io::Result<PathBuf> {
        let path = self.directory.path.join("program.py");
        fs::write(&path, &self.request.program)?;
        fs::set_permissions(&path, Permissions::from_mode(0o400))?;
        if let Some(uid) = self.uid {
            chown(&path, Some(uid), Some(uid))?;
        }
        Ok(path)
    }

    fn supervise(
        &self,
        launched: &mut spawner::Launched,
        pipes: &supervise::Pipes,
        work: &Path,
    ) -> Result<Ran, SandboxError> {
        let Job {
            executor,
            request,
            group,
            ..
        } = self;
        let mut capture = output::Capture::new(request.limits.output_bytes, request.keep_lines.as_deref());
        let rules = supervise::Rules {
            wall: Duration::from_secs_f64(request.limits.wall_s),
            bounds: self.bounds,
            flood_bytes: executor.config.flood_bytes,
            cancel: &request.cancel,
            watch_tree: !executor.hierarchies.limits(),
            watch_disk: (!executor.spawner.mounts()).then_some(work),
        };
        let watched = supervise::watch_to_end(launched, pipes, group, &rules, &mut capture)
            .map_err(failed("watch the program to its end"))?;
        let output_total_bytes = capture.total();
        let output = capture.finish();
        let status = watched.program_status;
        let oom_killed = group.oom_kills().is_some_and(|kills| kills > 0) && status != Some(0);
        let verdict = match (watched.stop, status) {
            (Some(Stop::Wall), _) => Verdict::Timeout,
            (Some(Stop::Memory), _) => Verdict::OutOfMemory,
            (Some(_), _) => Verdict::Killed,
            (None, _) if oom_killed => Verdict::OutOfMemory,
            (None, Some(0)) => Verdict::Ok,
            (None, Some(_)) => Verdict::Error,
            (None, None) => {
                let said = String::from_utf8_lossy(&output).trim().to_owned();
                let message = match watched.wrapper.signal() {
                    Some(signal) => format!("it was ended by signal {signal}: {said}"),
                    None => said,
                };
                return Err(SandboxError::Wrapper { message });
            }
        };
        // A status that came although we stopped the tree is only the echo of our kill.
        let status = status.filter(|_| watched.stop.is_none());
        let signal = status
            .filter(|status| (129..=192).contains(status))
            .map(|status| status - 128);
        Ok(Ran {
            verdict,
            stopped: watched.stop.map(Stop::as_str),
            exit_code: status.filter(|_| signal.is_none()),
            signal,
            wall_s: watched.wall.as_secs_f64(),
            cpu_s: group.cpu_s().unwrap_or(watched.seen_cpu_s),
            memory_peak_bytes: group.memory_peak(),
            output,
            output_total_bytes,
            submission: collect::submission(launched.work.as_fd(), executor.config.submission_bytes),
            leftover_processes: watched.leftovers,
            isolation: executor.level,
        })
    }
}

/// A pipe of which our end, the first, does not block.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    let flags = rustix::fs::fcntl_getfl(&read)?;
    rustix::fs::fcntl_setfl(&read, flags | rustix::fs::OFlags::NONBLOCK)?;
    Ok((read, write))
}
