//! All that a service is given.

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use journeyman_bus::{Bus, GiveUp, JobError, Observer, WorkOptions};
use journeyman_schemas::{Job, Request, envelope::Envelope, fault::Fault};
use journeyman_store::Store;
use tokio_util::sync::CancellationToken;

use crate::{Clock, Ends, Metric, Metrics, Readiness, Status, Tasks, observer::seconds};

/// Deliveries that a job gets before it is given up.
const MAX_DELIVER: u32 = 5;

/// Between two looks at a stage's backlog.
const BACKLOG_PERIOD: Duration = Duration::from_secs(5);

/// Handed to a service's `run`. Clones share all of it.
#[derive(Clone)]
pub struct Context<C> {
    /// The service's configuration.
    pub config: C,
    /// NATS, with all streams in place.
    pub bus: Bus,
    /// Redis, checked.
    pub store: Store,
    /// The service's metrics.
    pub metrics: Metrics,
    /// The only source of time.
    pub clock: Clock,
    /// Cancelled when the service shall stop: finish what is under way, take nothing new, return.
    pub stop: CancellationToken,
    /// Where background tasks are spawned.
    pub tasks: Tasks,
    /// Says when the service takes work.
    pub ready: Readiness,
    /// What the service is doing, for `journeyman status`.
    pub status: Status,
    /// Commits ends of rollouts.
    pub ends: Ends,
    /// For loops that are started on the bus directly.
    pub observer: Arc<dyn Observer>,
    /// For loops that are started on the bus directly.
    pub give_up: Arc<dyn GiveUp>,
    /// Where the admin port is.
    pub admin: SocketAddr,
}

impl<C: Clone + Send + Sync + 'static> Context<C> {
    /// Works a stage until the service stops, at most `slots` jobs at once. Opens readiness.
    pub async fn work<J, F, Fut>(&self, slots: usize, handler: F) -> anyhow::Result<()>
    where
        J: Job,
        F: Fn(Envelope<J>, u32) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), JobError>> + Send + 'static,
    {
        let stage = [J::STAGE.as_str()];
        self.metrics.set(Metric::JobSlots, &stage, slots as f64);
        self.metrics
            .set(Metric::StageProgressTime, &stage, seconds(&self.clock));
        self.status.change(|status| status.slots += slots as u64);
        let watcher = self.clone();
        self.tasks
            .spawn("backlog", async move { watcher.watch_backlog::<J>().await });
        self.ready.open();
        let options = WorkOptions {
            slots,
            stop: self.stop.clone(),
            max_deliver: MAX_DELIVER,
            observer: self.observer.clone(),
            give_up: self.give_up.clone(),
        };
        Ok(self.bus.work(options, handler).await?)
    }

    /// Answers requests on `subject` until the service stops, at most `slots` at once. Opens readiness.
    pub async fn serve<R, F, Fut>(&self, subject: String, slots: usize, handler: F) -> anyhow::Result<()>
    where
        R: Request,
        F: Fn(Envelope<R>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R::Reply, Fault>> + Send + 'static,
    {
        let listening = self.bus.listen(subject).await?;
        self.status.change(|status| status.slots += slots as u64);
        self.ready.open();
        Ok(listening
            .serve(slots, self.stop.clone(), self.observer.clone(), handler)
            .await?)
    }

    async fn watch_backlog<J: Job>(&self) -> Result<(), std::convert::Infallible> {
        let stage = [J::STAGE.as_str()];
        loop {
            match self.bus.backlog(J::STAGE).await {
                Ok(backlog) => {
                    self.metrics
                        .set(Metric::StagePending, &stage, backlog.pending as f64);
                    self.metrics
                        .set(Metric::StageUnacknowledged, &stage, backlog.in_flight as f64);
                    let oldest = backlog
                        .oldest_ms
                        .map_or(0.0, |oldest_ms| oldest_ms as f64 / 1000.0);
                    self.metrics.set(Metric::StageOldestTime, &stage, oldest);
                }
                Err(error) => tracing::debug!(error = %error, "backlog of {} can't be read", J::STAGE),
            }
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return Ok(()),
                () = self.clock.sleep(BACKLOG_PERIOD) => {}
            }
        }
    }
}
