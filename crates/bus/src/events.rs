//! Facts, in the order of their stream, and cancel notices as they come.

use std::{marker::PhantomData, time::Duration};

use async_nats::{
    Subscriber,
    jetstream::{
        Message,
        consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull},
    },
};
use futures::StreamExt;
use journeyman_schemas::{EVENTS_STREAM, Event, event::Cancel, event_filter, ids::RunId};

use crate::{Bus, BusError, connection::chain};

/// Where to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventsFrom {
    /// With what is published from now on.
    Now,
    /// With the oldest fact that is kept.
    Start,
}

/// Facts of one kind, each once and in order, whatever happens to the connection or the server in between.
pub struct Events<E> {
    bus: Bus,
    filter: String,
    next_sequence: u64,
    consumer: Option<PullConsumer>,
    batch: Option<pull::Batch>,
    kind: PhantomData<fn() -> E>,
}

/// Messages of one pull.
const BATCH: usize = 64;
/// The server forgets a reader that has not asked for this long.
const INACTIVE: Duration = Duration::from_secs(300);
/// Between two attempts to read.
const PAUSE: Duration = Duration::from_millis(500);

impl Bus {
    /// Facts of kind `E`, of one run or of all.
    pub async fn subscribe_events<E: Event>(
        &self,
        run: Option<&RunId>,
        from: EventsFrom,
    ) -> Result<Events<E>, BusError> {
        let every_run = event_filter(E::NAME);
        let filter = match run {
            Some(run) => format!("{}{run}", every_run.trim_end_matches('>')),
            None => every_run,
        };
        let next_sequence = match from {
            EventsFrom::Start => 1,
            EventsFrom::Now => {
                let stream = self.jetstream.get_stream(EVENTS_STREAM).await.map_err(|error| {
                    self.unavailable(format!("reading stream `{EVENTS_STREAM}`"), chain(&error))
                })?;
                stream.cached_info().state.last_sequence + 1
            }
        };
        Ok(Events {
            bus: self.clone(),
            filter,
            next_sequence,
            consumer: None,
            batch: None,
            kind: PhantomData,
        })
    }

    /// Cancel notices of every run. They are not kept: who listens must also look at the run's tombstone.
    pub async fn subscribe_cancels(&self) -> Result<Cancels, BusError> {
        let subject = event_filter("ctl.cancel");
        match self.client.subscribe(subject.clone()).await {
            Ok(notices) => Ok(Cancels { notices }),
            Err(error) => Err(self.unavailable(format!("listening on `{subject}`"), chain(&error))),
        }
    }
}

impl<E: Event> Events<E> {
    /// The next fact; waits for as long as it takes. Nothing is lost when the wait is dropped.
    pub async fn next(&mut self) -> E {
        let mut connections = self.bus.connections.clone();
        loop {
            let Some(batch) = &mut self.batch else {
                connections.mark_unchanged();
                if let Err(error) = self.pull().await {
                    tracing::warn!(filter = self.filter, error, "events can't be read, trying again");
                    self.consumer = None;
                    tokio::time::sleep(PAUSE).await;
                }
                continue;
            };
            tokio::select! {
                biased;
                message = batch.next() => match message {
                    Some(Ok(message)) => {
                        if let Some(event) = self.take(&message) {
                            return event;
                        }
                    }
                    Some(Err(error)) => {
                        tracing::debug!(filter = self.filter, %error, "pull of events failed");
                        (self.batch, self.consumer) = (None, None);
                    }
                    None => self.batch = None,
                },
                // The server that had our consumer and its pull is gone.
                Ok(()) = connections.changed() => (self.batch, self.consumer) = (None, None),
            }
        }
    }

    fn take(&mut self, message: &Message) -> Option<E> {
        if let Ok(info) = message.info() {
            self.next_sequence = info.stream_sequence + 1;
        }
        match serde_json::from_slice(&message.payload) {
            Ok(event) => Some(event),
            Err(error) => {
                tracing::error!(subject = %message.subject, %error, "event can't be read, left out");
                None
            }
        }
    }

    /// Asks for more, through a consumer of our own that starts behind the last fact seen.
    async fn pull(&mut self) -> Result<(), String> {
        let consumer = match self.consumer.take() {
            Some(consumer) => consumer,
            None => self.consumer().await?,
        };
        let batch = consumer
            .batch()
            .max_messages(BATCH)
            .expires(self.bus.config.timing.pull)
            .messages();
        self.batch = Some(batch.await.map_err(|error| chain(&error))?);
        self.consumer = Some(consumer);
        Ok(())
    }

    async fn consumer(&self) -> Result<PullConsumer, String> {
        let config = pull::Config {
            filter_subject: self.filter.clone(),
            deliver_policy: DeliverPolicy::ByStartSequence {
                start_sequence: self.next_sequence,
            },
            ack_policy: AckPolicy::None,
            inactive_threshold: INACTIVE,
            memory_storage: true,
            ..Default::default()
        };
        let made = self
            .bus
            .jetstream
            .create_consumer_on_stream(config, EVENTS_STREAM)
            .await;
        made.map_err(|error| chain(&error))
    }
}

/// Cancel notices.
pub struct Cancels {
    notices: Subscriber,
}

impl Cancels {
    /// The next notice; none when the connection is closed for good.
    pub async fn next(&mut self) -> Option<Cancel> {
        loop {
            let message = self.notices.next().await?;
            match serde_json::from_slice(&message.payload) {
                Ok(cancel) => return Some(cancel),
                Err(error) => {
                    tracing::error!(subject = %message.subject, %error, "cancel notice can't be read")
                }
            }
        }
    }
}
