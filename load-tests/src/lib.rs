//! Scenarios that measure running services, and the table that each gives.

pub mod grader;
pub mod inference;
pub mod report;
