//! Tests of `snippet`.
