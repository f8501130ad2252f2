//! The whole system with real servers, and the files that run it elsewhere.

mod operations;
mod pipeline;
