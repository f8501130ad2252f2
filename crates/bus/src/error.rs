//! What can go wrong on the bus.

use std::time::Duration;

use journeyman_schemas::fault::Fault;

/// A bus operation failed.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// No server answered in time.
    #[error("no NATS server at `{url}` within {}: {cause}; start one (`make up`) or set `[nats] url`", seconds(*.waited))]
    Unreachable {
        /// Where it was looked for.
        url: String,
        /// How long.
        waited: Duration,
        /// Last failure.
        cause: String,
    },
    /// The server is older than what this crate relies on.
    #[error(
        "NATS server at `{url}` is version `{version}`, which ignores settings we rely on; run 2.12 or newer (`make setup` installs one)"
    )]
    OldServer {
        /// Where.
        url: String,
        /// What it says it is.
        version: String,
    },
    /// The server runs without JetStream.
    #[error("NATS server at `{url}` runs without JetStream; start it with `-js` and a store directory")]
    NoJetStream {
        /// Where.
        url: String,
    },
    /// A stream or consumer was created, but not as asked for.
    #[error(
        "`{name}`: the server took `{field}` = `{got}`, asked for `{want}`; delete `{name}` or update the server"
    )]
    NotEchoed {
        /// Stream or consumer.
        name: String,
        /// Which setting.
        field: &'static str,
        /// What was asked for.
        want: String,
        /// What the server says.
        got: String,
    },
    /// A message is over the size limit.
    #[error("message for `{subject}` has {size} bytes, allowed are {limit}; send bulk by content hash")]
    TooLarge {
        /// For where.
        subject: String,
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A job without a rollout key has no subject.
    #[error("job `{id}` has no `key`: a job belongs to a rollout")]
    NoKey {
        /// The message id.
        id: String,
    },
    /// A message could not be written as JSON.
    #[error("message for `{subject}` can't be encoded: {cause}")]
    Encode {
        /// For where.
        subject: String,
        /// Why.
        cause: serde_json::Error,
    },
    /// No such object.
    #[error("no object `{name}` in bucket `{bucket}`")]
    NoObject {
        /// Bucket.
        bucket: String,
        /// Name.
        name: String,
    },
    /// The server did not answer in time or the connection is down: try again later.
    #[error("{what} failed within {}: {cause}", seconds(*.waited))]
    Unavailable {
        /// What was tried.
        what: String,
        /// How long.
        waited: Duration,
        /// Last failure.
        cause: String,
    },
}

/// A request got no answer, or a refusal.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// Nobody listens on the subject.
    #[error("nobody answers `{subject}`: is the service up, and is that its name?")]
    NoResponder {
        /// The subject.
        subject: String,
    },
    /// Someone listens but shows no sign of life.
    #[error("responder of `{subject}` gave no sign of life for {}", seconds(*.silence))]
    Silent {
        /// The subject.
        subject: String,
        /// For how long.
        silence: Duration,
    },
    /// The envelope's deadline passed first.
    #[error("deadline of the request to `{subject}` passed")]
    DeadlineExceeded {
        /// The subject.
        subject: String,
    },
    /// The responder refused or failed.
    #[error("`{subject}` answered {fault}")]
    Fault {
        /// The subject.
        subject: String,
        /// What it said.
        fault: Fault,
    },
    /// The request is over the server's limit.
    #[error("request to `{subject}` has {size} bytes, allowed are {limit}")]
    TooLarge {
        /// The subject.
        subject: String,
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The answer can't be read.
    #[error("answer of `{subject}` can't be read: {cause}")]
    Decode {
        /// The subject.
        subject: String,
        /// Why.
        cause: serde_json::Error,
    },
    /// The bus failed.
    #[error(transparent)]
    Bus(#[from] BusError),
}

impl RequestError {
    /// Whether the same question may succeed later.
    pub fn retry(&self) -> bool {
        match self {
            RequestError::NoResponder { .. } | RequestError::Silent { .. } => true,
            RequestError::Fault { fault, .. } => fault.code.retry(),
            RequestError::Bus(error) => matches!(error, BusError::Unavailable { .. }),
            RequestError::DeadlineExceeded { .. }
            | RequestError::TooLarge { .. }
            | RequestError::Decode { .. } => false,
        }
    }
}

/// Seconds for people, as in `1.5 s`.
fn seconds(duration: Duration) -> String {
    format!("{} s", (duration.as_secs_f64() * 10.0).round() / 10.0)
}
