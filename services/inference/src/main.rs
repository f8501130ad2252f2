//! The `journeyman-inference` process.

fn main() {}
