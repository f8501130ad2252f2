//! What every message carries beside its body.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{SCHEMA_VERSION, ids::RolloutKey};

/// A message: body, origin, fence and deadline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Envelope<T> {
    /// Format version of the writer, [`SCHEMA_VERSION`].
    pub schema: u16,
    /// Names this message for deduplication: the same work has the same id at every retry of its publication.
    pub id: String,
    /// The rollout that the message is about; none for calls outside a run.
    pub key: Option<RolloutKey>,
    /// Fence number: which delivery of the work wrote this message, from 1.
    pub attempt: u32,
    /// When the work is void, milliseconds since the Unix epoch.
    pub deadline_ms: i64,
    /// W3C `traceparent`; one trace id from the prompt to the gradient.
    pub traceparent: String,
    /// What is said.
    pub body: T,
}

impl<T> Envelope<T> {
    /// A message of the current schema version.
    pub fn new(
        id: String,
        key: Option<RolloutKey>,
        attempt: u32,
        deadline_ms: i64,
        traceparent: String,
        body: T,
    ) -> Self {
        Self {
            schema: SCHEMA_VERSION,
            id,
            key,
            attempt,
            deadline_ms,
            traceparent,
            body,
        }
    }

    /// The next message of the same rollout: same key, attempt, deadline and trace, another body.
    pub fn next<U>(&self, id: String, body: U) -> Envelope<U> {
        Envelope {
            schema: SCHEMA_VERSION,
            id,
            key: self.key.clone(),
            attempt: self.attempt,
            deadline_ms: self.deadline_ms,
            traceparent: self.traceparent.clone(),
            body,
        }
    }
}
