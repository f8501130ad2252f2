//! Typed NATS: requests, jobs, events and objects. The only crate that sees `async-nats`.
//!
//! - [`Bus::request`] and [`Bus::serve`]: one question, one answer, with signs of life in between.
//! - [`Bus::enqueue`] and [`Bus::work`]: jobs, at least once; a job is acknowledged, retried or given up, never lost.
//! - [`Bus::publish`] and [`Bus::subscribe_events`]: facts, kept in a stream.
//! - [`Bus::put_object`] and [`Bus::get_object`]: bulk under a name.
//!
//! Delivery is at least once everywhere. Exactly-once happens in one place, the reward commit in Redis.

mod config;
mod connection;
mod deadline;
mod error;
mod events;
mod job;
mod objects;
mod publish;
mod request;
mod serve;
mod streams;
mod work;

pub use config::{BusConfig, Timing};
pub use connection::Bus;
pub use error::{BusError, RequestError};
pub use events::{Cancels, Events, EventsFrom};
pub use job::{GiveUp, GiveUpError, JobError, JobOutcome, LostCause, LostJob, Observer, WorkOptions, job_id};
pub use serve::Listening;
pub use streams::Backlog;
