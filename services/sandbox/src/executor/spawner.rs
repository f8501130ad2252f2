//! The one thread that starts jobs.
//!
//! Jobs die with the thread that started them (`PR_SET_PDEATHSIG` belongs to a thread), so it lives as long as the
//! executor. As root it has a mount namespace of its own: the sized file systems of jobs are seen by nobody else, and
//! vanish with the executor even when that is killed.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::{fs::chown, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Instant,
};

use nix::{
    fcntl::{FcntlArg, FdFlag, fcntl},
    libc,
    mount::{MntFlags, MsFlags, mount, umount2},
    sched::{CloneFlags, unshare},
    sys::{
        prctl,
        resource::{Resource, setrlimit},
        signal::Signal,
    },
    unistd::{Gid, Uid, getpid, getppid, setgroups, setresgid, setresuid},
};

use super::Bounds;

/// Files and directories that a job may make.
const INODES: u64 = 100_000;
/// Open files per process.
const OPEN_FILES: u64 = 4096;

/// How to start one job.
pub(super) struct Launch {
    pub(super) bwrap: PathBuf,
    pub(super) arguments: Vec<OsString>,
    /// Where `/work` is made.
    pub(super) work: PathBuf,
    pub(super) uid: Option<u32>,
    pub(super) bounds: Bounds,
    /// Processes and threads that the user may have in all, where no control group counts them.
    pub(super) user_tasks: Option<u64>,
    /// Control groups to join.
    pub(super) groups: Vec<OwnedFd>,
    /// Both ends of stdout and stderr.
    pub(super) output: OwnedFd,
    /// Further files that bubblewrap reads and writes.
    pub(super) inherited: Vec<OwnedFd>,
}

/// A job that runs.
pub(super) struct Launched {
    pub(super) child: Child,
    pub(super) started: Instant,
    /// The directory `/work`, to be looked into when all is dead.
    pub(super) work: OwnedFd,
}

enum Order {
    Start(Box<Launch>, mpsc::SyncSender<io::Result<Launched>>),
    Unmount(PathBuf, mpsc::SyncSender<io::Result<()>>),
}

/// Hands orders to the thread.
pub(super) struct Spawner {
    orders: mpsc::Sender<Order>,
    mounts: bool,
}

impl Spawner {
    /// Starts the thread. With `mounts`, it tries for a mount namespace; what fails is said in `missing`.
    pub(super) fn start(mounts: bool, missing: &mut Vec<String>) -> io::Result<Spawner> {
        let (orders, inbox) = mpsc::channel();
        let (answer, ready) = mpsc::sync_channel(1);
        thread::Builder::new()
            .name("sandbox-spawner".into())
            .spawn(move || {
                let isolated = if mounts {
                    own_mounts()
                } else {
                    Err(io::ErrorKind::Unsupported.into())
                };
                let mounts = isolated.is_ok();
                if answer.send(isolated).is_ok() {
                    serve(&inbox, mounts);
                }
            })?;
        let isolated = ready.recv().map_err(|_| gone())?;
        let has_mounts = isolated.is_ok();
        if let (true, Err(error)) = (mounts, isolated) {
            missing.push(format!("a mount namespace for sized file systems: {error}"));
        }
        Ok(Spawner {
            orders,
            mounts: has_mounts,
        })
    }

    /// Whether `/work` is a file system of its own, with its size and number of files limited.
    pub(super) fn mounts(&self) -> bool {
        self.mounts
    }

    pub(super) fn launch(&self, launch: Launch) -> io::Result<Launched> {
        let (answer, result) = mpsc::sync_channel(1);
        self.orders
            .send(Order::Start(Box::new(launch), answer))
            .map_err(|_| gone())?;
        result.recv().map_err(|_| gone())?
    }

    pub(super) fn unmount(&self, work: &Path) -> io::Result<()> {
        let (answer, result) = mpsc::sync_channel(1);
        self.orders
            .send(Order::Unmount(work.to_path_buf(), answer))
            .map_err(|_| gone())?;
        result.recv().map_err(|_| gone())?
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the thread that starts jobs is gone")
}

fn serve(inbox: &mpsc::Receiver<Order>, mounts: bool) {
    // Whoever asked may have gone away; then nobody needs the answer.
    for order in inbox {
        match order {
            Order::Start(launch, answer) => drop(answer.send(start(*launch, mounts))),
            Order::Unmount(work, answer) => {
                let result = if mounts {
                    umount2(&work, MntFlags::MNT_DETACH)
                } else {
                    Ok(())
                };
                drop(answer.send(result.map_err(io::Error::from)));
            }
        }
    }
}

fn own_mounts() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    // Slave: disks mounted later outside are seen here, and nothing of ours is seen there.
    mount(
        None::<&str>,
        "/",
        None::<&str>,
        MsFlags::MS_SLAVE | MsFlags::MS_REC,
        None::<&str>,
    )?;
    Ok(())
}

fn start(launch: Launch, mounts: bool) -> io::Result<Launched> {
    std::fs::create_dir(&launch.work)?;
    if mounts {
        let owner = launch.uid.unwrap_or(0);
        let size = launch.bounds.disk_bytes;
        let options = format!("size={size},nr_inodes={INODES},mode=700,uid={owner},gid={owner}");
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(
            Some("tmpfs"),
            &launch.work,
            Some("tmpfs"),
            flags,
            Some(options.as_str()),
        )?;
    }
    let work = launch.work.clone();
    let started = spawn(launch);
    if started.is_err() && mounts {
        umount2(&work, MntFlags::MNT_DETACH)?;
    }
    started
}

fn spawn(launch: Launch) -> io::Result<Launched> {
    // Made here, so that it belongs to the job and is there when bubblewrap covers it.
    std::fs::create_dir(launch.work.join("data"))?;
    if let Some(uid) = launch.uid {
        chown(&launch.work, Some(uid), Some(uid))?;
        chown(launch.work.join("data"), Some(uid), Some(uid))?;
    }
    let work = OwnedFd::from(File::open(&launch.work)?);
    let mut command = Command::new(&launch.bwrap);
    command
        .args(&launch.arguments)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(launch.output.try_clone()?)
        .stderr(launch.output)
        .process_group(0);
    let groups: Vec<RawFd> = launch.groups.iter().map(AsRawFd::as_raw_fd).collect();
    let inherited: Vec<RawFd> = launch.inherited.iter().map(AsRawFd::as_raw_fd).collect();
    let (parent, uid, bounds, user_tasks) = (getpid(), launch.uid, launch.bounds, launch.user_tasks);
    let prepare = move || {
        for group in &groups {
            write_zero(*group)?;
        }
        if let Some(uid) = uid {
            // Written while still privileged, so that the job cannot lower it.
            std::fs::write("/proc/self/oom_score_adj", "1000")?;
            setgroups(&[])?;
            let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(uid));
            setresgid(gid, gid, gid)?;
            setresuid(uid, uid, uid)?;
        }
        prctl::set_no_new_privs()?;
        setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
        setrlimit(Resource::RLIMIT_FSIZE, bounds.disk_bytes, bounds.disk_bytes)?;
        setrlimit(Resource::RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES)?;
        setrlimit(Resource::RLIMIT_MSGQUEUE, 0, 0)?;
        if let Some(tasks) = user_tasks {
            setrlimit(Resource::RLIMIT_NPROC, tasks, tasks)?;
        }
        for file in &inherited {
            keep_across_exec(*file)?;
        }
        // After the change of user, which resets it.
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        if getppid() != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(())
    };
    #[expect(
        unsafe_code,
        reason = "only code in the child itself can join groups and drop privileges before exec"
    )]
    // SAFETY: between fork and exec the closure makes system calls on values made before the fork. The one write by
    // path is to /proc/self, whose path buffer std keeps on the stack, so nothing waits for a lock of another thread.
    unsafe {
        command.pre_exec(prepare);
    }
    let started = Instant::now();
    let child = command.spawn()?;
    Ok(Launched { child, started, work })
}

fn write_zero(file: RawFd) -> io::Result<()> {
    #[expect(
        unsafe_code,
        reason = "borrowing a raw descriptor has no safe form after fork"
    )]
    // SAFETY: the descriptors are owned by the `Launch` that lives until after the spawn.
    let file = unsafe { std::os::fd::BorrowedFd::borrow_raw(file) };
    nix::unistd::write(file, b"0")?;
    Ok(())
}

fn keep_across_exec(file: RawFd) -> io::Result<()> {
    #[expect(
        unsafe_code,
        reason = "borrowing a raw descriptor has no safe form after fork"
    )]
    // SAFETY: the descriptors are owned by the `Launch` that lives until after the spawn.
    let file = unsafe { std::os::fd::BorrowedFd::borrow_raw(file) };
    fcntl(file, FcntlArg::F_SETFD(FdFlag::empty()))?;
    Ok(())
}
