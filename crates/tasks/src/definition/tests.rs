//! Tests of `definition`.
