//! Scenarios that measure running services, and the table that each gives.

pub mod inference;
pub mod report;
