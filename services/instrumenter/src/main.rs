//! The `journeyman-instrumenter` process.

fn main() {}
