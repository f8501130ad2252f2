//! One user id per job, never shared by two jobs on a machine.

use std::{
    io,
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener},
    },
    thread,
    time::Duration,
};

/// How often the range is gone through when all is taken. A child that is just being started shares our locks until
/// it becomes another program, so an id that was given back can seem taken for a moment.
const PASSES: u32 = 100;
/// Pause between passes.
const PAUSE: Duration = Duration::from_millis(10);

/// The user ids that jobs may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct UidRange {
    pub(super) first: u32,
    pub(super) count: u32,
}

impl UidRange {
    /// Takes an id that no job of this or another executor on this machine has; none when all are taken.
    pub(super) fn take(self) -> io::Result<Option<JobUid>> {
        for _ in 0..PASSES {
            let taken = self.pass()?;
            if taken.is_some() {
                return Ok(taken);
            }
            thread::sleep(PAUSE);
        }
        Ok(None)
    }

    fn pass(self) -> io::Result<Option<JobUid>> {
        for uid in self.first..self.first.saturating_add(self.count) {
            // A name in the abstract space has one owner and is free when its owner dies: a lock without a file.
            let name = SocketAddr::from_abstract_name(format!("journeyman-sandbox-uid-{uid}"))?;
            match UnixListener::bind_addr(&name) {
                Ok(lock) => return Ok(Some(JobUid { uid, _lock: lock })),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// A job's user id, given back when dropped.
pub(super) struct JobUid {
    pub(super) uid: u32,
    _lock: UnixListener,
}
