//! instrumenter
