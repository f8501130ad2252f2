//! Works on one submission within limits of size, memory and time, so that no submission can harm or delay another.
//!
//! Small submissions go straight to work. Larger ones first wait until the memory that they can take at most is free;
//! that is known from their size and their task before a byte is read. The time runs from the start of the work, which
//! gives up by itself once it is over.

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use journeyman_tasks::{
    grading::GradingTask,
    submission::{Invalid, InvalidKind, Patience, check_size, too_slow},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::GraderSection;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// Time beyond the limit in which work must notice that it is over; its verdict is given even if it does not.
const TO_NOTICE: Duration = Duration::from_secs(1);

/// Why there is no verdict.
#[derive(Debug)]
pub(crate) enum Trouble<E> {
    /// The submission could not be read.
    Read(E),
    /// The work panicked.
    Panic(String),
}

/// Memory that a larger submission holds; none for a small one.
struct Room(#[expect(dead_code, reason = "it counts by being held")] Option<OwnedSemaphorePermit>);

/// The limits, and the memory that is free for larger submissions.
pub(crate) struct Judge {
    submission_bytes: u64,
    small_bytes: u64,
    memory_mib: u64,
    /// One permit per KiB.
    free: Arc<Semaphore>,
}

impl Judge {
    pub(crate) fn new(section: &GraderSection) -> Self {
        Self {
            submission_bytes: section.submission_bytes as u64,
            small_bytes: section.small_bytes as u64,
            memory_mib: section.memory_mib.into(),
            free: Arc::new(Semaphore::new(section.memory_mib as usize * KIB as usize)),
        }
    }

    /// Reads a submission of `bytes` bytes, as told by who keeps it, and does `work` on it. No more bytes are taken.
    ///
    /// The inner error is the submission's fault and a verdict; the outer one is that of `read`, or a panic of `work`,
    /// and says nothing of the submission.
    pub(crate) async fn judge<T, E>(
        &self,
        task: &Arc<GradingTask>,
        bytes: u64,
        read: impl Future<Output = Result<Vec<u8>, E>>,
        work: impl FnOnce(&GradingTask, &[u8], Patience) -> Result<T, Invalid> + Send + 'static,
    ) -> Result<Result<T, Invalid>, Trouble<E>>
    where
        T: Send + 'static,
    {
        if let Err(too_large) = check_size(bytes, self.submission_bytes) {
            return Ok(Err(too_large));
        }
        let room = match self.enter(task, bytes).await {
            Ok(room) => room,
            Err(too_large) => return Ok(Err(too_large)),
        };
        let csv = read.await.map_err(Trouble::Read)?;
        if let Err(too_large) = check_size(csv.len() as u64, bytes) {
            return Ok(Err(too_large));
        }
        let limit = Duration::from_secs_f64(task.definition().limits.grade_s);
        let on_thread = task.clone();
        let working = tokio::task::spawn_blocking(move || {
            // Held until the thread is done, even if nobody waits for it any more.
            let _room = room;
            work(&on_thread, &csv, Patience::until(Instant::now() + limit))
        });
        match tokio::time::timeout(limit + TO_NOTICE, working).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(panic)) => Err(Trouble::Panic(panic.to_string())),
            Err(_) => Ok(Err(too_slow())),
        }
    }

    /// Waits for the memory that a larger submission may take.
    async fn enter(&self, task: &GradingTask, bytes: u64) -> Result<Room, Invalid> {
        if bytes <= self.small_bytes {
            return Ok(Room(None));
        }
        let needed = task.memory_bytes(bytes).div_ceil(KIB);
        if needed > self.memory_mib * KIB {
            return Err(Invalid {
                kind: InvalidKind::TooLarge,
                message: format!(
                    "grading its {bytes} bytes may take {} MiB of memory; at most {} MiB are used, so write only the id and \
                     the target columns, with fewer digits",
                    (needed * KIB).div_ceil(MIB),
                    self.memory_mib
                ),
            });
        }
        // It fits: `needed` is at most `memory_mib`, a u32, in KiB of a semaphore that has as many permits.
        let permits = u32::try_from(needed).unwrap_or(u32::MAX);
        let permit = self.free.clone().acquire_many_owned(permits).await;
        // The semaphore is never closed.
        Ok(Room(permit.ok()))
    }
}

#[cfg(test)]
mod tests;
