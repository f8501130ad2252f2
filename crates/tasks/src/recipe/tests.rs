//! Tests of `recipe`.
