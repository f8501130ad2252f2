//! Shared replay and reward state in Redis; the only crate that sees redis.
//!
//! Every write is idempotent, so a caller that got [`StoreError::Unavailable`] tries again. What must happen as one is
//! a Redis function (`functions.lua`). No command blocks on the server: all clients of a process share one connection,
//! and a blocking read would hold up the rest. A reader that waits for something polls.

mod archive;
mod blob;
mod connect;
mod error;
mod group;
mod keys;
mod live;
mod quota;
mod run;

#[cfg(test)]
mod tests;

pub use archive::{ARCHIVE_LIMIT, ArchiveEntry, ArchivedSolution, POOL_LIMIT};
pub use blob::BLOB_LIMIT_BYTES;
pub use connect::{Store, StoreConfig};
pub use error::StoreError;
pub use group::{Commit, GroupRecord, LEAST_USABLE, OpenGroup, Opened, RunCounters};
pub use live::ServiceStatus;
