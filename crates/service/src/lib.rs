//! One way to start, run and stop a service.
//!
//! A service is `pub async fn run(ctx: Context<Config>) -> anyhow::Result<()>`, a configuration that is a
//! [`ServiceConfig`], and a `main` that calls [`main`]. Tests start the same `run` with [`InProcess`].

mod admin;
mod clock;
mod completion;
pub mod config;
mod context;
mod ends;
mod failure;
mod give_up;
mod hand_on;
mod in_process;
mod life;
mod log;
mod metrics;
mod observer;
mod process;
mod ready;
mod tasks;
mod trace;

pub use clock::Clock;
pub use config::ServiceConfig;
pub use context::Context;
pub use ends::Ends;
pub use failure::{chain, fault_of, job_error_of};
pub use in_process::InProcess;
pub use metrics::{Kind, Label, Metric, Metrics, Scope, Spec, word};
pub use observer::Status;
pub use process::main;
pub use ready::Readiness;
pub use tasks::Tasks;
pub use trace::new_traceparent;
