//! The other end of a queue: what a service under test hands on.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result};
use futures::future::{BoxFuture, ready};
use journeyman_bus::{Bus, BusError, GiveUp, GiveUpError, LostJob, WorkOptions};
use journeyman_schemas::{Job, envelope::Envelope, ids::RunId};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// Takes the jobs of `J`'s stage off the queue as they come, until dropped.
pub struct TakenJobs<J> {
    jobs: UnboundedReceiver<Envelope<J>>,
    task: JoinHandle<Result<(), BusError>>,
}

/// Jobs taken at once.
const SLOTS: usize = 16;
/// Longest wait for a job.
const PATIENCE: Duration = Duration::from_secs(30);

impl<J: Job> TakenJobs<J> {
    /// Starts taking.
    pub fn start(bus: &Bus) -> Self {
        let (sender, jobs) = unbounded_channel();
        let bus = bus.clone();
        let task = tokio::spawn(async move {
            let options = WorkOptions {
                slots: SLOTS,
                stop: CancellationToken::new(),
                max_deliver: 1,
                observer: Arc::new(()),
                give_up: Arc::new(LetGo),
            };
            let take = move |job: Envelope<J>, _| {
                // A test that has what it wants may be gone.
                drop(sender.send(job));
                ready(Ok(()))
            };
            bus.work(options, take).await
        });
        Self { jobs, task }
    }

    /// The next job. An error when none comes within 30 s.
    pub async fn next(&mut self) -> Result<Envelope<J>> {
        let next = timeout(PATIENCE, self.jobs.recv()).await;
        next.with_context(|| format!("no job of stage `{}` came", J::STAGE))?
            .with_context(|| format!("jobs of stage `{}` can't be taken", J::STAGE))
    }
}

impl<J> Drop for TakenJobs<J> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// No rollout is ended.
struct LetGo;

impl GiveUp for LetGo {
    fn cancelled<'a>(&'a self, _run: &'a RunId) -> BoxFuture<'a, bool> {
        Box::pin(ready(false))
    }

    fn give_up<'a>(&'a self, _lost: &'a LostJob) -> BoxFuture<'a, Result<(), GiveUpError>> {
        Box::pin(ready(Ok(())))
    }
}
