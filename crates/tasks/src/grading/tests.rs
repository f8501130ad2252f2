//! Tests of `grading`.
