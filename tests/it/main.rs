//! The whole system with real servers, and the files that run it elsewhere.
#![expect(
    clippy::disallowed_methods,
    reason = "tests have no service context to go through"
)]

mod operations;
mod pipeline;
