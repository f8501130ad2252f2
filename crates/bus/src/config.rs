//! Where the server is, and how long things may take.

use std::time::Duration;

/// How to reach the NATS server.
#[derive(Clone, Debug)]
pub struct BusConfig {
    /// Address, as in `nats://127.0.0.1:4222`.
    pub url: String,
    /// Name of the connection in the server's monitoring, and queue group of [`serve`](crate::Bus::serve): the service's name.
    pub name: String,
    /// User, when the server asks for one.
    pub user: Option<String>,
    /// Password of `user`.
    pub password: Option<String>,
    /// How long things may take.
    pub timing: Timing,
}

impl BusConfig {
    /// A connection without a password and with the usual [`Timing`].
    pub fn new(url: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            name: name.into(),
            user: None,
            password: None,
            timing: Timing::default(),
        }
    }
}

/// Every wait of this crate; nothing waits longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// For the server to come up at [`connect`](crate::Bus::connect).
    pub connect: Duration,
    /// Lease of a job: silence of a worker for this long gives its job to another. A third of it is the heart-beat.
    pub ack_wait: Duration,
    /// First delay of a retry; it doubles with each delivery, up to 30 times this.
    pub retry: Duration,
    /// One pull for jobs; shorter means more traffic, not faster jobs.
    pub pull: Duration,
    /// One publication with all its tries.
    pub publish: Duration,
    /// Between two signs of life of a responder at work.
    pub working: Duration,
    /// Silence after which a responder is taken for dead; several times `working`.
    pub silence: Duration,
    /// One object in or out.
    pub object: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            ack_wait: Duration::from_secs(30),
            retry: Duration::from_secs(1),
            pull: Duration::from_secs(5),
            publish: Duration::from_secs(30),
            working: Duration::from_secs(5),
            silence: Duration::from_secs(20),
            object: Duration::from_secs(60),
        }
    }
}
