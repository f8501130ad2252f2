//! What a stage's worker loop needs from its service, and what it tells it.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use journeyman_schemas::{
    Stage,
    fault::FaultCode,
    ids::{RolloutKey, RunId},
};
use tokio_util::sync::CancellationToken;

use crate::RequestError;

/// Id of the job of `stage` that delivery number `attempt` of the stage before it writes: a repeated publication has
/// the same id, another delivery another.
pub fn job_id(key: &RolloutKey, stage: Stage, attempt: u32) -> String {
    format!("{key}/{stage}/{attempt}")
}

/// How a stage works.
#[derive(Clone)]
pub struct WorkOptions {
    /// Jobs at once, at least 1; no more are ever fetched.
    pub slots: usize,
    /// Ends the loop: nothing more is fetched, jobs under way are finished.
    pub stop: CancellationToken,
    /// Deliveries that a job gets before it is given up, at least 1; 5 is usual.
    pub max_deliver: u32,
    /// Is told what happens.
    pub observer: Arc<dyn Observer>,
    /// Ends rollouts whose job is given up.
    pub give_up: Arc<dyn GiveUp>,
}

/// Why a handler did not do its job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// Our own trouble: again later, after `delay` or a delay that grows with each delivery (1, 2, 4 … 30 s).
    #[error("{reason}")]
    Retry {
        /// For people.
        reason: String,
        /// When not the usual delay.
        delay: Option<Duration>,
    },
    /// The job can never be done: it is given up at once.
    #[error("{reason}")]
    Poison {
        /// For people.
        reason: String,
    },
}

impl JobError {
    /// Again later, after the usual delay.
    pub fn retry(reason: impl Into<String>) -> Self {
        JobError::Retry {
            reason: reason.into(),
            delay: None,
        }
    }

    /// Never.
    pub fn poison(reason: impl Into<String>) -> Self {
        JobError::Poison {
            reason: reason.into(),
        }
    }
}

/// A request that may succeed later makes its job a retry; another makes it poison.
impl From<RequestError> for JobError {
    fn from(error: RequestError) -> Self {
        if error.retry() {
            JobError::retry(error.to_string())
        } else {
            JobError::poison(error.to_string())
        }
    }
}

/// A publication that fails makes its job a retry, unless the message itself is at fault.
impl From<crate::BusError> for JobError {
    fn from(error: crate::BusError) -> Self {
        use crate::BusError::{Encode, NoKey, TooLarge};
        match error {
            TooLarge { .. } | NoKey { .. } | Encode { .. } => JobError::poison(error.to_string()),
            _ => JobError::retry(error.to_string()),
        }
    }
}

/// How one delivery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobOutcome {
    /// The handler did it.
    Done,
    /// It will be delivered again.
    Retried,
    /// It was given up.
    GivenUp(LostCause),
}

impl JobOutcome {
    /// Every outcome.
    pub const ALL: [JobOutcome; 7] = [
        JobOutcome::Done,
        JobOutcome::Retried,
        JobOutcome::GivenUp(LostCause::Undecodable),
        JobOutcome::GivenUp(LostCause::Poison),
        JobOutcome::GivenUp(LostCause::Deadline),
        JobOutcome::GivenUp(LostCause::Cancelled),
        JobOutcome::GivenUp(LostCause::LastDelivery),
    ];

    /// The word in metric labels and log fields.
    pub fn as_str(self) -> &'static str {
        match self {
            JobOutcome::Done => "done",
            JobOutcome::Retried => "retried",
            JobOutcome::GivenUp(cause) => cause.as_str(),
        }
    }
}

/// Why a job is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LostCause {
    /// Its message can't be read.
    Undecodable,
    /// Its handler says that it can never be done.
    Poison,
    /// Its deadline passed.
    Deadline,
    /// Its run was cancelled.
    Cancelled,
    /// It failed, or killed its worker, as often as is allowed.
    LastDelivery,
}

impl LostCause {
    /// The word in metric labels and log fields.
    pub fn as_str(self) -> &'static str {
        match self {
            LostCause::Undecodable => "undecodable",
            LostCause::Poison => "poison",
            LostCause::Deadline => "deadline",
            LostCause::Cancelled => "cancelled",
            LostCause::LastDelivery => "last_delivery",
        }
    }
}

/// A job that is given up.
#[derive(Clone, Debug, PartialEq)]
pub struct LostJob {
    /// The stage that gives it up.
    pub stage: Stage,
    /// The run, from the subject; `unknown` when even that can't be read.
    pub run: RunId,
    /// The rollout, when the envelope can be read.
    pub key: Option<RolloutKey>,
    /// Which delivery this was, from 1.
    pub attempt: u32,
    /// Why.
    pub cause: LostCause,
    /// Why, for people.
    pub reason: String,
    /// The whole message; a JSON string when it is not JSON.
    pub message: serde_json::Value,
}

/// Is told what the loops do; `()` listens to nothing. All methods return at once.
pub trait Observer: Send + Sync {
    /// A job arrived; `redelivered` when not for the first time. Each is followed by one `finished`.
    fn delivered(&self, _stage: Stage, _redelivered: bool) {}
    /// Its handler starts; not called for a job that is given up without work.
    fn started(&self, _stage: Stage) {}
    /// Heart-beat of a job under way.
    fn progress(&self, _stage: Stage) {}
    /// The delivery ended, after `seconds` of work.
    fn finished(&self, _stage: Stage, _outcome: JobOutcome, _seconds: f64) {}
    /// A request was answered, by a fault when there is one.
    fn answered(&self, _request: &'static str, _fault: Option<FaultCode>, _seconds: f64) {}
}

impl Observer for () {}

/// Ends the rollout of a job that is given up, so that its group ends.
pub trait GiveUp: Send + Sync {
    /// Whether `run` was cancelled; asked before a job starts and at each heart-beat. When in doubt, no.
    fn cancelled<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, bool>;
    /// Commits the failed end and publishes the dead letter. On an error the job comes back and this is called again,
    /// so it must be idempotent.
    fn give_up<'a>(&'a self, lost: &'a LostJob) -> BoxFuture<'a, Result<(), GiveUpError>>;
}

/// The end of a rollout could not be recorded now.
#[derive(Debug, thiserror::Error)]
#[error("end of the rollout can't be recorded: {reason}")]
pub struct GiveUpError {
    /// For people.
    pub reason: String,
}

impl GiveUpError {
    /// For people.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}
