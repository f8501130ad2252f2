//! MLE-bench and MLE-Dojo: their data directories, graders, medals and reports, natively.
//!
//! - [`frame`]: CSV read as pandas reads it
//! - [`graders`]: what each competition's grader does
//! - [`competition`]: facts about the 82 competitions
//! - [`data`]: prepared directories of MLE-bench and MLE-Dojo
//! - [`grade`]: from a file to a [`report`]
//!
//! `compat` gives MLE-bench's result to the last digit, quirks and all; `strict` compares ids, demands every row and a
//! finite score, and is what rewards use.

mod align;
pub mod competition;
pub mod data;
pub mod frame;
pub mod grade;
pub mod graders;
pub mod leaderboard;
pub mod python;
pub mod refusal;
pub mod report;
pub mod score;
pub mod strict;
