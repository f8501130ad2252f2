//! The `journeyman-ideator` process.

fn main() {}
