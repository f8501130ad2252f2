//! Messages that a stream keeps, and the cancel notice, which none does.

use std::time::{Duration, Instant};

use async_nats::jetstream::{context::PublishErrorKind, message::PublishMessage};
use bytes::Bytes;
use journeyman_schemas::{
    Event, Job, MESSAGE_LIMIT_BYTES, cancel_subject, dead_subject,
    envelope::Envelope,
    event::{Cancel, DeadLetter},
    ids::{ContentHash, RunId},
    job_subject,
};
use serde::Serialize;

use crate::{Bus, BusError, connection::chain};

/// Between two tries of a publication.
const PAUSE: Duration = Duration::from_millis(200);
/// Headers that a stored message carries, at most: the message id with its name.
const HEADERS_BYTES: usize = 512;

impl Bus {
    /// Puts a job on the queue of its stage and waits until the stream has it. A message id that the stream knows
    /// already is not stored again and is no error, so a caller who is not sure may repeat the call.
    pub async fn enqueue<J: Job>(&self, job: &Envelope<J>) -> Result<(), BusError> {
        let key = job
            .key
            .as_ref()
            .ok_or_else(|| BusError::NoKey { id: job.id.clone() })?;
        let subject = job_subject(J::STAGE, &key.run);
        let payload = encode(&subject, job)?;
        self.store(subject, &job.id, payload, MESSAGE_LIMIT_BYTES).await
    }

    /// Publishes a fact under a message id and waits until the stream has it; repeating it is no error.
    pub async fn publish<E: Event>(&self, id: &str, event: &E) -> Result<(), BusError> {
        let subject = event.subject();
        let payload = encode(&subject, event)?;
        self.store(subject, id, payload, MESSAGE_LIMIT_BYTES).await
    }

    /// Publishes a dead letter of a job of `run`. The same letter is stored once.
    pub async fn publish_dead(&self, letter: &DeadLetter, run: &RunId) -> Result<(), BusError> {
        let subject = dead_subject(letter.stage, run);
        let mut payload = encode(&subject, letter)?;
        let id = format!("dead/{}", ContentHash::of(&payload));
        if payload.len() + HEADERS_BYTES > self.max_payload() {
            // Better a letter without its message than no letter.
            let message = format!(
                "left out: the letter has {} bytes, over the server's limit",
                payload.len()
            );
            payload = encode(
                &subject,
                &DeadLetter {
                    message: message.into(),
                    ..letter.clone()
                },
            )?;
        }
        self.store(subject, &id, payload, usize::MAX).await
    }

    /// Tells every worker to stop work on a run. Who is not connected now does not hear it, so the run's tombstone in
    /// the store must be written first.
    pub async fn cancel_run(&self, cancel: &Cancel) -> Result<(), BusError> {
        let subject = cancel_subject(&cancel.run);
        let payload = encode(&subject, cancel)?;
        let what = format!("publishing to `{subject}`");
        let sent = async {
            self.client
                .publish(subject, payload)
                .await
                .map_err(|error| chain(&error))?;
            self.client.flush().await.map_err(|error| chain(&error))
        };
        match tokio::time::timeout(self.config.timing.publish, sent).await {
            Ok(result) => result.map_err(|cause| self.unavailable(what, cause)),
            Err(_) => Err(self.unavailable(what, "no answer in time".into())),
        }
    }

    /// Publishes until the stream has it: a try without an answer may have been stored, or be stored later, so every
    /// try has the same id.
    async fn store(&self, subject: String, id: &str, payload: Bytes, limit: usize) -> Result<(), BusError> {
        let limit = limit.min(self.max_payload().saturating_sub(HEADERS_BYTES));
        let size = payload.len();
        if size > limit {
            return Err(BusError::TooLarge { subject, size, limit });
        }
        let started = Instant::now();
        loop {
            let message = PublishMessage::build().payload(payload.clone()).message_id(id);
            let tried = async { self.jetstream.send_publish(subject.clone(), message).await?.await };
            let error = match tried.await {
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            match error.kind() {
                PublishErrorKind::MaxPayloadExceeded => {
                    return Err(BusError::TooLarge { subject, size, limit });
                }
                // The server lost its store, or nobody has made the streams yet.
                PublishErrorKind::StreamNotFound if started.elapsed() < self.config.timing.publish => {
                    if let Err(error) = self.ensure_streams().await {
                        tracing::warn!(subject, %error, "streams can't be made");
                    }
                }
                _ => {}
            }
            if started.elapsed() >= self.config.timing.publish {
                return Err(self.unavailable(format!("publishing to `{subject}`"), chain(&error)));
            }
            tracing::debug!(subject, id, error = chain(&error), "publication is tried again");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

pub(crate) fn encode<T: Serialize>(subject: &str, value: &T) -> Result<Bytes, BusError> {
    match serde_json::to_vec(value) {
        Ok(bytes) => Ok(bytes.into()),
        Err(cause) => Err(BusError::Encode {
            subject: subject.into(),
            cause,
        }),
    }
}
