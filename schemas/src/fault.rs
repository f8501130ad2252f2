//! Why a request was not answered: a closed set, each with a rule for the caller.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A refusal or failure, as it travels in a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Fault {
    /// Which kind.
    pub code: FaultCode,
    /// For people: names the field, the value and what is allowed.
    pub message: String,
}

impl Fault {
    /// A fault of `code` with a message for people.
    pub fn new(code: FaultCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

/// The kinds of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultCode {
    /// The message can't be read or breaks a rule: asking again gives the same.
    Invalid,
    /// A named thing (model, adapter, task, blob) is unknown here.
    NotFound,
    /// No free slot: ask again later.
    Busy,
    /// The deadline has passed.
    DeadlineExceeded,
    /// The run was cancelled.
    Cancelled,
    /// Larger than the limit that the message names.
    TooLarge,
    /// Something that this service needs is down: ask again later.
    Unavailable,
    /// A fault of ours.
    Internal,
}

impl FaultCode {
    /// Every kind.
    pub const ALL: [FaultCode; 8] = [
        FaultCode::Invalid,
        FaultCode::NotFound,
        FaultCode::Busy,
        FaultCode::DeadlineExceeded,
        FaultCode::Cancelled,
        FaultCode::TooLarge,
        FaultCode::Unavailable,
        FaultCode::Internal,
    ];

    /// The word in replies, metric labels and log fields.
    pub fn as_str(self) -> &'static str {
        match self {
            FaultCode::Invalid => "invalid",
            FaultCode::NotFound => "not_found",
            FaultCode::Busy => "busy",
            FaultCode::DeadlineExceeded => "deadline_exceeded",
            FaultCode::Cancelled => "cancelled",
            FaultCode::TooLarge => "too_large",
            FaultCode::Unavailable => "unavailable",
            FaultCode::Internal => "internal",
        }
    }

    /// Whether the same question may succeed later.
    pub fn retry(self) -> bool {
        matches!(
            self,
            FaultCode::Busy | FaultCode::Unavailable | FaultCode::Internal
        )
    }
}

impl std::fmt::Display for FaultCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
