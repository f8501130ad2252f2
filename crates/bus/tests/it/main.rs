//! The bus against a real nats-server: jobs, requests, outages, streams.
#![expect(
    clippy::disallowed_methods,
    reason = "tests have no service context to spawn tasks with"
)]

mod desk;
mod jobs;
mod outages;
mod requests;
mod streams;
