//! Tests of `public`.
