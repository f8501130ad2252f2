//! lm

pub mod config;
pub mod gguf;
