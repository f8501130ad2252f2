//! Names and numbers of things, one newtype each.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A name that can stand in a subject: 1 to 64 of `a-z 0-9 - _ .`, no dot in subject words.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{what} `{value}` is not allowed: it must be {allowed}")]
pub struct IdError {
    what: &'static str,
    value: String,
    allowed: &'static str,
}

macro_rules! name_id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Checks the name: 1 to 64 characters of `a-z`, `0-9`, `-`, `_`.
            pub fn new(value: impl Into<String>) -> Result<Self, IdError> {
                let value = value.into();
                let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
                if value.is_empty() || value.len() > 64 || !value.chars().all(good) {
                    return Err(IdError { what: $what, value, allowed: "1 to 64 characters of a-z, 0-9, `-` and `_`" });
                }
                Ok(Self(value))
            }

            /// The name itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(value: &str) -> Result<Self, IdError> {
                Self::new(value)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
            }
        }
    };
}

name_id!(
    /// One training or evaluation run.
    RunId, "run id"
);
name_id!(
    /// One Kaggle-style task.
    TaskId, "task id"
);
name_id!(
    /// One model, as in `jm.lm.<model>.generate`; dots of a model's usual name are written `-`.
    ModelId, "model id"
);

/// SHA-256 of some bytes, 64 lower-case hex digits. Names everything that is immutable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct ContentHash(String);

impl ContentHash {
    /// Hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(hex(&Sha256::digest(bytes)))
    }

    /// Checks 64 lower-case hex digits.
    pub fn new(value: impl Into<String>) -> Result<Self, IdError> {
        let value = value.into();
        let good = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        if value.len() != 64 || !value.chars().all(good) {
            return Err(IdError {
                what: "content hash",
                value,
                allowed: "64 lower-case hex digits",
            });
        }
        Ok(Self(value))
    }

    /// The 64 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first 12 digits, for people.
    pub fn short(&self) -> &str {
        // Only ASCII hex digits are inside, 64 of them.
        &self.0[..12]
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// Where a rollout stands: the run, the group (counted in dispatch order from 0), the rollout in the group (from 0).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct RolloutKey {
    /// The run.
    pub run: RunId,
    /// Group number in dispatch order.
    pub group: u64,
    /// Rollout number in the group, below the group's size.
    pub rollout: u32,
}

impl fmt::Display for RolloutKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.run, self.group, self.rollout)
    }
}
