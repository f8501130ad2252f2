//! Tests of `submission`.
