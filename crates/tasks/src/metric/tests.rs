//! Tests of `metric`.
