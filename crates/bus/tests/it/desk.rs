//! A server, a connection with short waits, and a notebook of what the loops told.

use std::{
    future::Future,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures::{FutureExt, future::BoxFuture};
use journeyman_bus::{
    Bus, BusConfig, BusError, GiveUp, GiveUpError, JobError, JobOutcome, LostJob, Observer, Timing,
    WorkOptions, job_id,
};
use journeyman_schemas::{
    Job, Stage,
    envelope::Envelope,
    event::DeadLetter,
    ids::{RolloutKey, RunId},
};
use journeyman_testkit::NatsServer;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Nothing in these tests takes this long, unless it never comes.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// A small job of a real stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sum {
    pub(crate) terms: Vec<u64>,
}

impl Job for Sum {
    const STAGE: Stage = Stage::Execute;
}

/// A job of the same stage that is no [`Sum`].
#[derive(Serialize, Deserialize)]
pub(crate) struct Foreign {
    pub(crate) text: String,
}

impl Job for Foreign {
    const STAGE: Stage = Stage::Execute;
}

pub(crate) struct Desk {
    pub(crate) server: NatsServer,
    pub(crate) bus: Bus,
    pub(crate) notes: Arc<Notes>,
    /// Of workers yet to come.
    pub(crate) timing: Timing,
}

pub(crate) fn short_timing() -> Timing {
    Timing {
        connect: Duration::from_secs(10),
        ack_wait: Duration::from_secs(1),
        retry: Duration::from_millis(100),
        pull: Duration::from_secs(1),
        publish: Duration::from_secs(15),
        working: Duration::from_millis(100),
        silence: Duration::from_secs(2),
        object: Duration::from_secs(20),
    }
}

pub(crate) async fn connect(server: &NatsServer, name: &str, timing: Timing) -> Bus {
    let config = BusConfig {
        timing,
        ..server.config(name)
    };
    Bus::connect(&config).await.unwrap()
}

impl Desk {
    pub(crate) async fn open() -> Self {
        Self::open_with("").await
    }

    pub(crate) async fn open_with(configuration: &str) -> Self {
        let server = NatsServer::start_with(configuration).unwrap();
        let bus = connect(&server, "desk", short_timing()).await;
        bus.ensure_streams().await.unwrap();
        Self {
            server,
            notes: Arc::new(Notes::new(bus.clone())),
            bus,
            timing: short_timing(),
        }
    }

    /// A worker loop with a connection of its own.
    pub(crate) async fn worker<F, Fut>(&self, slots: usize, max_deliver: u32, handler: F) -> Worker
    where
        F: Fn(Envelope<Sum>, u32) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), JobError>> + Send + 'static,
    {
        let bus = connect(&self.server, "worker", self.timing.clone()).await;
        let stop = CancellationToken::new();
        let options = WorkOptions {
            slots,
            stop: stop.clone(),
            max_deliver,
            observer: self.notes.clone(),
            give_up: self.notes.clone(),
        };
        let task = tokio::spawn(async move { bus.work(options, handler).await });
        Worker { stop, task }
    }

    pub(crate) async fn enqueue(&self, rollout: u32) {
        self.bus.enqueue(&job(rollout)).await.unwrap();
    }

    /// Puts bytes on a subject past the bus, as a foreign program might.
    pub(crate) async fn publish_raw(&self, subject: &'static str, bytes: Vec<u8>) {
        let client = async_nats::connect(self.server.url()).await.unwrap();
        client.publish(subject, bytes.into()).await.unwrap();
        client.flush().await.unwrap();
    }
}

pub(crate) struct Worker {
    pub(crate) stop: CancellationToken,
    pub(crate) task: JoinHandle<Result<(), BusError>>,
}

impl Worker {
    pub(crate) async fn finish(self) {
        self.stop.cancel();
        tokio::time::timeout(LONG, self.task)
            .await
            .unwrap()
            .unwrap()
            .unwrap();
    }

    /// As SIGKILL would: nothing is said to the server.
    pub(crate) async fn die(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }
}

/// What the loops told.
pub(crate) struct Notes {
    bus: Bus,
    pub(crate) started: AtomicU32,
    pub(crate) progress: AtomicU32,
    pub(crate) redelivered: AtomicU32,
    /// Times that giving up is still to fail.
    pub(crate) give_up_fails: AtomicU32,
    pub(crate) outcomes: Mutex<Vec<JobOutcome>>,
    pub(crate) lost: Mutex<Vec<LostJob>>,
    pub(crate) cancelled: Mutex<Vec<RunId>>,
}

impl Notes {
    fn new(bus: Bus) -> Self {
        Self {
            bus,
            started: AtomicU32::new(0),
            progress: AtomicU32::new(0),
            redelivered: AtomicU32::new(0),
            give_up_fails: AtomicU32::new(0),
            outcomes: Mutex::default(),
            lost: Mutex::default(),
            cancelled: Mutex::default(),
        }
    }

    pub(crate) fn lost(&self) -> Vec<LostJob> {
        self.lost.lock().unwrap().clone()
    }

    pub(crate) fn outcomes(&self) -> Vec<JobOutcome> {
        self.outcomes.lock().unwrap().clone()
    }

    pub(crate) fn done(&self) -> usize {
        self.outcomes()
            .iter()
            .filter(|&&outcome| outcome == JobOutcome::Done)
            .count()
    }
}

impl Observer for Notes {
    fn delivered(&self, _stage: Stage, redelivered: bool) {
        self.redelivered
            .fetch_add(u32::from(redelivered), Ordering::SeqCst);
    }
    fn started(&self, _stage: Stage) {
        self.started.fetch_add(1, Ordering::SeqCst);
    }
    fn progress(&self, _stage: Stage) {
        self.progress.fetch_add(1, Ordering::SeqCst);
    }
    fn finished(&self, _stage: Stage, outcome: JobOutcome, _seconds: f64) {
        self.outcomes.lock().unwrap().push(outcome);
    }
}

impl GiveUp for Notes {
    fn cancelled<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, bool> {
        let cancelled = self.cancelled.lock().unwrap().contains(run);
        async move { cancelled }.boxed()
    }

    fn give_up<'a>(&'a self, lost: &'a LostJob) -> BoxFuture<'a, Result<(), GiveUpError>> {
        async move {
            let count_down = |left: u32| left.checked_sub(1);
            if self
                .give_up_fails
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, count_down)
                .is_ok()
            {
                return Err(GiveUpError::new("the store is down"));
            }
            let letter = DeadLetter {
                stage: lost.stage,
                key: lost.key.clone(),
                attempt: lost.attempt,
                reason: lost.reason.clone(),
                message: lost.message.clone(),
            };
            self.bus
                .publish_dead(&letter, &lost.run)
                .await
                .map_err(|error| GiveUpError::new(error.to_string()))?;
            self.lost.lock().unwrap().push(lost.clone());
            Ok(())
        }
        .boxed()
    }
}

pub(crate) fn run() -> RunId {
    RunId::new("run1").unwrap()
}

pub(crate) fn key(rollout: u32) -> RolloutKey {
    RolloutKey {
        run: run(),
        group: 0,
        rollout,
    }
}

/// A job with a deadline in a minute.
pub(crate) fn job(rollout: u32) -> Envelope<Sum> {
    envelope(rollout, 60_000, Sum { terms: vec![1, 2] })
}

pub(crate) fn envelope<T>(rollout: u32, left_ms: i64, body: T) -> Envelope<T> {
    let id = job_id(&key(rollout), Stage::Execute, 1);
    Envelope::new(
        id,
        Some(key(rollout)),
        1,
        now_ms() + left_ms,
        "00-0af7-b7ad-01".into(),
        body,
    )
}

pub(crate) fn now_ms() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// Messages in a stream.
pub(crate) async fn stored(server: &NatsServer, stream: &str) -> u64 {
    let client = async_nats::connect(server.url()).await.unwrap();
    let stream = async_nats::jetstream::new(client)
        .get_stream(stream)
        .await
        .unwrap();
    stream.cached_info().state.messages
}
