//! What can go wrong with the store.

use journeyman_schemas::{fault::FaultCode, ids::ContentHash};

/// A failure of the store. [`StoreError::code`] says whether to try again.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The address can't be read.
    #[error("`{url}` is not a redis address: write `redis://host:port` or `unix:///path/to/socket`")]
    Address {
        /// What was given, without a password.
        url: String,
        /// What the parser said.
        source: redis::RedisError,
    },
    /// No answer, or none in time. Writes are idempotent: try again.
    #[error("redis is not available")]
    Unavailable(#[source] redis::RedisError),
    /// The server is older than functions.
    #[error("redis is `{found}`, at least 7 is needed: install redis-server 7 or newer")]
    OldServer {
        /// The server's version.
        found: String,
    },
    /// The server may drop keys, and rewards with them.
    #[error(
        "redis drops keys when it is full (maxmemory-policy is `{policy}`): \
         run `redis-cli config set maxmemory-policy noeviction` and put it into redis.conf"
    )]
    Eviction {
        /// The policy in force.
        policy: String,
    },
    /// The server forgets all when it stops.
    #[error(
        "redis keeps nothing over a restart (appendonly is `no`): \
         run `redis-cli config set appendonly yes` and put it into redis.conf, or set `redis.allow_volatile`"
    )]
    Volatile,
    /// The server is at its memory limit.
    #[error("redis is full: raise `maxmemory` or remove old runs")]
    Full(#[source] redis::RedisError),
    /// The server refused the command for another reason.
    #[error("redis refused")]
    Refused(#[source] redis::RedisError),
    /// Nothing is kept under this hash (any more).
    #[error("blob `{0}` is not there: it was never written or is older than 7 days")]
    NoBlob(ContentHash),
    /// What is kept under this hash is something else.
    #[error("blob `{hash}` is damaged: its bytes hash to `{found}`")]
    DamagedBlob {
        /// What was asked for.
        hash: ContentHash,
        /// What the bytes hash to.
        found: ContentHash,
    },
    /// More bytes than a blob may have.
    #[error("a blob of {bytes} bytes is too large: at most {limit} are allowed")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A number that can't be ranked or trained on.
    #[error("`{field}` of `{what}` is `{value}`: it must be finite")]
    NotFinite {
        /// Which rollout.
        what: String,
        /// Which number.
        field: &'static str,
        /// The number.
        value: f64,
    },
    /// A value that breaks a rule.
    #[error("`{field}` is `{value}`: it must be {allowed}")]
    Invalid {
        /// Which value.
        field: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// What is stored can't be read.
    #[error("`{what}` in redis can't be read")]
    Decode {
        /// Which key or value.
        what: String,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// A value can't be written as JSON.
    #[error("`{what}` can't be written as JSON")]
    Encode {
        /// Which value.
        what: &'static str,
        /// What the writer said.
        source: serde_json::Error,
    },
}

impl StoreError {
    /// How the failure is told over the wire; [`FaultCode::retry`] says whether to try again.
    pub fn code(&self) -> FaultCode {
        match self {
            StoreError::Unavailable(_) | StoreError::Full(_) => FaultCode::Unavailable,
            StoreError::NoBlob(_) => FaultCode::NotFound,
            StoreError::TooLarge { .. } => FaultCode::TooLarge,
            StoreError::NotFinite { .. } | StoreError::Invalid { .. } => FaultCode::Invalid,
            StoreError::Address { .. }
            | StoreError::OldServer { .. }
            | StoreError::Eviction { .. }
            | StoreError::Volatile
            | StoreError::Refused(_)
            | StoreError::DamagedBlob { .. }
            | StoreError::Decode { .. }
            | StoreError::Encode { .. } => FaultCode::Internal,
        }
    }
}

impl From<redis::RedisError> for StoreError {
    fn from(error: redis::RedisError) -> Self {
        use redis::{ErrorKind, ServerErrorKind};
        match error.kind() {
            ErrorKind::Io | ErrorKind::Parse => StoreError::Unavailable(error),
            ErrorKind::Server(
                ServerErrorKind::BusyLoading | ServerErrorKind::TryAgain | ServerErrorKind::MasterDown,
            ) => StoreError::Unavailable(error),
            // The code `OOM` of a function or a transaction stands in its text only.
            _ if error.code() == Some("OOM") || error.to_string().contains("when used memory") => {
                StoreError::Full(error)
            }
            _ => StoreError::Refused(error),
        }
    }
}
