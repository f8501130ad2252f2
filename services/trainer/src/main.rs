//! The `journeyman-trainer` process.

fn main() {}
