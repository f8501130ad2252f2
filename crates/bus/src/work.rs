//! The worker loop of a stage.
//!
//! Every delivery ends in one of three ways: done (acknowledged), retried (comes back after a delay), or given up (its
//! rollout is ended, then it is acknowledged). A worker that dies ends nothing: the lease runs out and the job comes
//! back; when it has come back too often it is given up without another try.

use std::{
    future::Future,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use async_nats::jetstream::{
    AckKind, Message,
    consumer::{PullConsumer, pull::Batch},
};
use futures::{FutureExt, StreamExt};
use journeyman_schemas::{Job, Stage, envelope::Envelope, ids::RunId, job_subject};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::{sleep, timeout},
};
use tracing::Instrument;

use crate::{
    Bus, BusError, JobError, JobOutcome, LostCause, LostJob, WorkOptions, connection::chain, deadline,
};

/// Without a job for this long, the consumer is looked at.
const IDLE: Duration = Duration::from_secs(60);
/// Between two attempts to fetch when fetching fails.
const PAUSE: Duration = Duration::from_millis(500);
/// Tries of an acknowledgement.
const ACK_TRIES: u32 = 3;
/// Longest delay of a retry, in first delays.
const MOST_DELAYS: u32 = 30;

impl Bus {
    /// Works on the jobs of `J`'s stage until `options.stop`. The handler gets the job and its delivery number, from 1.
    ///
    /// No more jobs are fetched than slots are free. While a handler runs, its lease is renewed from the same task: a
    /// handler that blocks its thread for longer than `timing.ack_wait` loses the job, so blocking work belongs on
    /// another thread. A handler is dropped at the job's deadline and when its run is cancelled. After `stop`, jobs
    /// under way are finished, then this returns; dropping it ends them at once and they are delivered again.
    ///
    /// Fails only when the consumer can't be made at the start. Later trouble is logged and outlived.
    pub async fn work<J, F, Fut>(&self, options: WorkOptions, handler: F) -> Result<(), BusError>
    where
        J: Job,
        F: Fn(Envelope<J>, u32) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), JobError>> + Send + 'static,
    {
        let stage = J::STAGE;
        self.ensure_streams().await?;
        let mut consumer = self.ensure_consumer(stage).await?;
        let mut connections = self.connections.clone();
        let slots = Arc::new(Semaphore::new(options.slots.max(1)));
        let worker = Arc::new(Worker {
            bus: self.clone(),
            stage,
            options,
            handler,
        });
        let stop = &worker.options.stop;
        let mut jobs = JoinSet::new();
        let mut last_fetched = Instant::now();
        while let Some(mut free) = free_slots(&slots, stop).await {
            while jobs.try_join_next().is_some() {}
            connections.mark_unchanged();
            let pull = consumer
                .batch()
                .max_messages(free.len())
                .expires(self.config.timing.pull)
                .messages();
            let mut batch = match pull.await {
                Ok(batch) => batch,
                Err(error) => {
                    consumer = self.consumer_again(stage, consumer, &chain(&error)).await;
                    continue;
                }
            };
            // One slot per message of the pull, so this ends with the pull at the latest.
            while !free.is_empty() {
                tokio::select! {
                    biased;
                    message = batch.next() => match message {
                        Some(Ok(message)) => {
                            last_fetched = Instant::now();
                            // The loop condition: there is one.
                            let Some(slot) = free.pop() else { break };
                            let worker = worker.clone();
                            jobs.spawn(async move {
                                worker.deliver(message).await;
                                drop(slot);
                            });
                        }
                        Some(Err(error)) => {
                            consumer = self.consumer_again(stage, consumer, &error.to_string()).await;
                            break;
                        }
                        None => break,
                    },
                    () = stop.cancelled() => break,
                    // The server that had our pull is gone.
                    Ok(()) = connections.changed() => break,
                }
            }
            self.hand_back(stage, batch).await;
            if last_fetched.elapsed() >= IDLE {
                last_fetched = Instant::now();
                consumer = self.look_at(stage, consumer).await;
            }
        }
        while jobs.join_next().await.is_some() {}
        Ok(())
    }

    /// Messages that arrived behind the last look go to another worker now, not after the lease.
    async fn hand_back(&self, stage: Stage, mut batch: Batch) {
        while let Some(Some(Ok(message))) = batch.next().now_or_never() {
            settle(stage, &message, AckKind::Nak(None)).await;
        }
    }

    /// Nothing came for long. With jobs pending something is wrong on the way (nats-server#6017): start anew.
    async fn look_at(&self, stage: Stage, consumer: PullConsumer) -> PullConsumer {
        match consumer.get_info().await {
            Ok(info) if info.num_pending == 0 => consumer,
            Ok(info) => {
                let cause = format!(
                    "{} jobs pending and none fetched for {} s",
                    info.num_pending,
                    IDLE.as_secs()
                );
                self.consumer_again(stage, consumer, &cause).await
            }
            Err(error) => self.consumer_again(stage, consumer, &chain(&error)).await,
        }
    }

    /// After a failure: makes what may be gone, and pauses. The old handle serves on when that fails.
    async fn consumer_again(&self, stage: Stage, old: PullConsumer, cause: &str) -> PullConsumer {
        tracing::warn!(%stage, cause, "jobs can't be fetched, trying again");
        sleep(PAUSE).await;
        let made = async {
            self.ensure_streams().await?;
            self.ensure_consumer(stage).await
        };
        made.await.unwrap_or_else(|error| {
            tracing::warn!(%stage, %error, "consumer can't be made");
            old
        })
    }
}

/// All free slots, at least one; none when the loop is to stop.
async fn free_slots(
    slots: &Arc<Semaphore>,
    stop: &tokio_util::sync::CancellationToken,
) -> Option<Vec<OwnedSemaphorePermit>> {
    let first = tokio::select! {
        biased;
        () = stop.cancelled() => return None,
        // Nobody closes the semaphore.
        first = slots.clone().acquire_owned() => first.ok()?,
    };
    let mut free = vec![first];
    while let Ok(another) = slots.clone().try_acquire_owned() {
        free.push(another);
    }
    Some(free)
}

struct Worker<F> {
    bus: Bus,
    stage: Stage,
    options: WorkOptions,
    handler: F,
}

/// What is to become of a delivery.
enum End {
    Done,
    Retry { reason: String, delay: Option<Duration> },
    Lost { cause: LostCause, reason: String },
}

impl<F> Worker<F> {
    /// One delivery, from its arrival to its acknowledgement.
    async fn deliver<J, Fut>(&self, message: Message)
    where
        J: Job,
        F: Fn(Envelope<J>, u32) -> Fut,
        Fut: Future<Output = Result<(), JobError>>,
    {
        let stage = self.stage;
        let attempt = match message.info() {
            Ok(info) => u32::try_from(info.delivered).unwrap_or(u32::MAX).max(1),
            Err(error) => {
                tracing::error!(%stage, %error, "message without delivery information, left out");
                return;
            }
        };
        self.options.observer.delivered(stage, attempt > 1);
        let started = Instant::now();
        let envelope = serde_json::from_slice::<Envelope<J>>(&message.payload);
        let key = envelope.as_ref().ok().and_then(|envelope| envelope.key.clone());
        let run = key
            .as_ref()
            .map_or_else(|| run_of(stage, &message.subject), |key| key.run.clone());
        let end = match envelope {
            Ok(_) if key.is_none() => End::Lost {
                cause: LostCause::Undecodable,
                reason: "job has no `key`: a job belongs to a rollout".into(),
            },
            Ok(envelope) => {
                let span = tracing::info_span!(
                    "job",
                    %stage,
                    rollout = key.as_ref().map(ToString::to_string).unwrap_or_default(),
                    attempt,
                    id = envelope.id,
                    traceparent = envelope.traceparent,
                );
                self.perform(&message, envelope, attempt, &run)
                    .instrument(span)
                    .await
            }
            Err(error) => End::Lost {
                cause: LostCause::Undecodable,
                reason: format!("job can't be read: {error}"),
            },
        };
        let end = match end {
            End::Retry { reason, .. } if attempt >= self.options.max_deliver => End::Lost {
                cause: LostCause::LastDelivery,
                reason: format!("delivery {attempt} of {}: {reason}", self.options.max_deliver),
            },
            end => end,
        };
        let outcome = match end {
            End::Done => {
                settle(stage, &message, AckKind::Ack).await;
                JobOutcome::Done
            }
            End::Retry { reason, delay } => {
                let delay = delay.unwrap_or_else(|| self.delay(attempt));
                tracing::warn!(%stage, %run, attempt, reason, ?delay, "job is retried");
                settle(stage, &message, AckKind::Nak(Some(delay))).await;
                JobOutcome::Retried
            }
            End::Lost { cause, reason } => {
                let text = serde_json::from_slice(&message.payload)
                    .unwrap_or_else(|_| String::from_utf8_lossy(&message.payload).into_owned().into());
                self.give_up(
                    &message,
                    LostJob {
                        stage,
                        run,
                        key,
                        attempt,
                        cause,
                        reason,
                        message: text,
                    },
                )
                .await
            }
        };
        self.options
            .observer
            .finished(stage, outcome, started.elapsed().as_secs_f64());
    }

    /// Runs the handler under lease and deadline.
    async fn perform<J, Fut>(&self, message: &Message, job: Envelope<J>, attempt: u32, run: &RunId) -> End
    where
        J: Job,
        F: Fn(Envelope<J>, u32) -> Fut,
        Fut: Future<Output = Result<(), JobError>>,
    {
        let cancelled = || End::Lost {
            cause: LostCause::Cancelled,
            reason: format!("run `{run}` was cancelled"),
        };
        if attempt > self.options.max_deliver {
            let reason = format!("{} deliveries ended without a word of their worker", attempt - 1);
            return End::Lost {
                cause: LostCause::LastDelivery,
                reason,
            };
        }
        let Some(left) = deadline::left(job.deadline_ms) else {
            return End::Lost {
                cause: LostCause::Deadline,
                reason: "deadline passed before the work began".into(),
            };
        };
        if self.options.give_up.cancelled(run).await {
            return cancelled();
        }
        self.options.observer.started(self.stage);
        let work = AssertUnwindSafe((self.handler)(job, attempt)).catch_unwind();
        tokio::select! {
            biased;
            result = work => match result {
                Ok(Ok(())) => End::Done,
                Ok(Err(JobError::Retry { reason, delay })) => End::Retry { reason, delay },
                Ok(Err(JobError::Poison { reason })) => End::Lost { cause: LostCause::Poison, reason },
                Err(panic) => End::Retry { reason: format!("handler panicked: {}", panic_text(&*panic)), delay: None },
            },
            () = sleep(left) => {
                End::Lost { cause: LostCause::Deadline, reason: "deadline passed during the work".into() }
            }
            () = self.keep_lease(message, run) => cancelled(),
        }
    }

    /// Renews the lease again and again; returns when the run is cancelled.
    async fn keep_lease(&self, message: &Message, run: &RunId) {
        loop {
            sleep(self.bus.config.timing.ack_wait / 3).await;
            if let Err(error) = message.ack_with(AckKind::Progress).await {
                tracing::warn!(stage = %self.stage, %error, "lease can't be renewed");
            }
            self.options.observer.progress(self.stage);
            if self.options.give_up.cancelled(run).await {
                return;
            }
        }
    }

    /// Ends the rollout, then the job. When the end can't be recorded the job comes back and this is tried again.
    async fn give_up(&self, message: &Message, lost: LostJob) -> JobOutcome {
        let stage = lost.stage;
        let key = lost.key.as_ref().map(ToString::to_string).unwrap_or_default();
        tracing::error!(%stage, run = %lost.run, key, attempt = lost.attempt, cause = lost.cause.as_str(), reason = lost.reason, "job is given up");
        let failure = match timeout(
            self.bus.config.timing.ack_wait,
            self.options.give_up.give_up(&lost),
        )
        .await
        {
            Ok(Ok(())) => {
                settle(stage, message, AckKind::Ack).await;
                return JobOutcome::GivenUp(lost.cause);
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".into(),
        };
        tracing::error!(%stage, key, failure, "job can't be given up now");
        settle(stage, message, AckKind::Nak(Some(self.delay(lost.attempt)))).await;
        JobOutcome::Retried
    }

    /// 1, 2, 4, 8 … 30 first delays.
    fn delay(&self, attempt: u32) -> Duration {
        let doubled = 1_u32
            .checked_shl(attempt.saturating_sub(1))
            .unwrap_or(MOST_DELAYS)
            .min(MOST_DELAYS);
        self.bus.config.timing.retry * doubled
    }
}

/// Tells the server, and hears that it knows. When it can't be told, the lease runs out and the job comes back, which
/// is safe: the end of a rollout is recorded once.
async fn settle(stage: Stage, message: &Message, kind: AckKind) {
    for _ in 0..ACK_TRIES {
        match message.double_ack_with(kind).await {
            Ok(()) => return,
            Err(error) => tracing::warn!(%stage, %error, "acknowledgement is tried again"),
        }
    }
    tracing::error!(%stage, "acknowledgement can't be made, the job will come back");
}

/// The run in a job's subject.
fn run_of(stage: Stage, subject: &str) -> RunId {
    // `unknown` follows the rules of names.
    #[expect(clippy::expect_used, reason = "the name is a constant that is allowed")]
    let unknown = RunId::new("unknown").expect("`unknown` is a run id");
    let prefix = job_subject(stage, &unknown);
    let run = subject
        .strip_prefix(prefix.trim_end_matches("unknown"))
        .unwrap_or_default();
    RunId::new(run).unwrap_or(unknown)
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
