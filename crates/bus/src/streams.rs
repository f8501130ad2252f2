//! Streams, consumers and buckets: made as asked for, or refused.

use std::time::Duration;

use async_nats::jetstream::{
    consumer::{AckPolicy, PullConsumer, pull},
    object_store,
    stream::{Config, DiscardPolicy, RetentionPolicy, StorageType},
};
use journeyman_schemas::{
    ADAPTERS_BUCKET, DEAD_STREAM, DEAD_SUBJECTS, EVENTS_STREAM, EVENTS_SUBJECTS, JOBS_STREAM, JOBS_SUBJECTS,
    Stage, job_filter,
};

use crate::{Bus, BusError, connection::chain, deadline::now_ms};

/// Message ids are remembered for this long.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
const MIB: i64 = 1024 * 1024;
/// Deliveries after which the server itself stops. Far above any `max_deliver` of a worker, so that a job is given up
/// by a worker, which tells its group, even after the store was down for hours.
const SERVER_MAX_DELIVER: i64 = 1000;
/// Jobs of one stage under way at once, over all its workers.
const MAX_ACK_PENDING: i64 = 10_000;

/// How much work a stage has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Jobs not delivered yet.
    pub pending: u64,
    /// Jobs delivered and not done.
    pub in_flight: u64,
    /// Of these, jobs delivered more than once.
    pub redelivered: u64,
    /// When the oldest job that is not done was queued, milliseconds since the Unix epoch; none without work.
    pub oldest_ms: Option<i64>,
}

impl Backlog {
    /// Age of the oldest job that is not done, seconds; 0 without work.
    pub fn oldest_age_s(&self) -> f64 {
        self.oldest_ms
            .map_or(0.0, |oldest| (now_ms() - oldest).max(0) as f64 / 1000.0)
    }
}

impl Bus {
    /// Makes the streams, one durable consumer per stage and the bucket of adapters, or brings them up to date. Any
    /// number of services may do so at once. Refuses a server that took a setting otherwise than asked.
    pub async fn ensure_streams(&self) -> Result<(), BusError> {
        for wanted in streams() {
            self.ensure_stream(wanted).await?;
        }
        for stage in Stage::ALL {
            self.ensure_consumer(stage).await?;
        }
        self.bucket(ADAPTERS_BUCKET).await?;
        Ok(())
    }

    /// How much work `stage` has.
    pub async fn backlog(&self, stage: Stage) -> Result<Backlog, BusError> {
        let what = || format!("reading the backlog of `{stage}`");
        let stream = self
            .jetstream
            .get_stream_no_info(JOBS_STREAM)
            .await
            .map_err(|error| self.unavailable(what(), chain(&error)))?;
        let info = stream
            .consumer_info(stage.as_str())
            .await
            .map_err(|error| self.unavailable(what(), chain(&error)))?;
        let in_flight = info.num_ack_pending as u64;
        let mut oldest_ms = None;
        if info.num_pending + in_flight > 0 {
            // The first of the stage's jobs above the floor is the oldest that is not done. It may be done by now:
            // then there is none to be found.
            let above = info.ack_floor.stream_sequence + 1;
            if let Ok(message) = stream
                .get_first_raw_message_by_subject(job_filter(stage), above)
                .await
            {
                oldest_ms = i64::try_from(message.time.unix_timestamp_nanos() / 1_000_000).ok();
            }
        }
        Ok(Backlog {
            pending: info.num_pending,
            in_flight,
            redelivered: info.num_redelivered as u64,
            oldest_ms,
        })
    }

    pub(crate) async fn ensure_consumer(&self, stage: Stage) -> Result<PullConsumer, BusError> {
        let wanted = pull::Config {
            durable_name: Some(stage.as_str().into()),
            filter_subject: job_filter(stage),
            ack_policy: AckPolicy::Explicit,
            ack_wait: self.config.timing.ack_wait,
            max_deliver: SERVER_MAX_DELIVER,
            max_ack_pending: MAX_ACK_PENDING,
            ..Default::default()
        };
        let consumer = self
            .jetstream
            .create_consumer_on_stream(wanted.clone(), JOBS_STREAM)
            .await
            .map_err(|error| self.unavailable(format!("making consumer `{stage}`"), chain(&error)))?;
        let got = &consumer.cached_info().config;
        let name = stage.as_str();
        echoed(
            name,
            "filter_subject",
            &wanted.filter_subject,
            &got.filter_subject,
        )?;
        echoed(name, "ack_policy", &wanted.ack_policy, &got.ack_policy)?;
        echoed(name, "ack_wait", &wanted.ack_wait, &got.ack_wait)?;
        echoed(name, "max_deliver", &wanted.max_deliver, &got.max_deliver)?;
        echoed(
            name,
            "max_ack_pending",
            &wanted.max_ack_pending,
            &got.max_ack_pending,
        )?;
        Ok(consumer)
    }

    pub(crate) async fn bucket(&self, bucket: &str) -> Result<object_store::ObjectStore, BusError> {
        let config = object_store::Config {
            bucket: bucket.into(),
            max_age: 30 * DAY,
            storage: StorageType::File,
            num_replicas: 1,
            ..Default::default()
        };
        self.jetstream
            .create_object_store(config)
            .await
            .map_err(|error| self.unavailable(format!("making bucket `{bucket}`"), chain(&error)))
    }

    async fn ensure_stream(&self, wanted: Config) -> Result<(), BusError> {
        let name = wanted.name.clone();
        let info = self
            .jetstream
            .create_or_update_stream(wanted.clone())
            .await
            .map_err(|error| self.unavailable(format!("making stream `{name}`"), chain(&error)))?;
        let got = &info.config;
        echoed(&name, "subjects", &wanted.subjects, &got.subjects)?;
        echoed(&name, "retention", &wanted.retention, &got.retention)?;
        echoed(&name, "storage", &wanted.storage, &got.storage)?;
        echoed(&name, "discard", &wanted.discard, &got.discard)?;
        echoed(&name, "max_age", &wanted.max_age, &got.max_age)?;
        echoed(&name, "max_bytes", &wanted.max_bytes, &got.max_bytes)?;
        echoed(
            &name,
            "duplicate_window",
            &wanted.duplicate_window,
            &got.duplicate_window,
        )
    }

    pub(crate) fn unavailable(&self, what: String, cause: String) -> BusError {
        BusError::Unavailable {
            what,
            waited: self.config.timing.publish,
            cause,
        }
    }
}

/// Limits retention, not work queue: a work queue forgets the ids of acknowledged messages at a restart, and accepts a
/// job twice (nats-server#3272). A full stream drops its oldest messages, which are done: admission bounds what is not.
fn streams() -> [Config; 3] {
    let stream = |name: &str, subjects: &[&str], max_age, max_bytes| Config {
        name: name.into(),
        subjects: subjects.iter().map(|&subject| subject.into()).collect(),
        retention: RetentionPolicy::Limits,
        discard: DiscardPolicy::Old,
        storage: StorageType::File,
        num_replicas: 1,
        duplicate_window: DUPLICATE_WINDOW,
        max_age,
        max_bytes,
        ..Default::default()
    };
    [
        stream(JOBS_STREAM, &[JOBS_SUBJECTS], DAY, 1024 * MIB),
        stream(EVENTS_STREAM, &EVENTS_SUBJECTS, 30 * DAY, 256 * MIB),
        stream(DEAD_STREAM, &DEAD_SUBJECTS, 30 * DAY, 256 * MIB),
    ]
}

fn echoed<T: PartialEq + std::fmt::Debug>(
    name: &str,
    field: &'static str,
    want: &T,
    got: &T,
) -> Result<(), BusError> {
    if want == got {
        return Ok(());
    }
    Err(BusError::NotEchoed {
        name: name.into(),
        field,
        want: format!("{want:?}"),
        got: format!("{got:?}"),
    })
}
