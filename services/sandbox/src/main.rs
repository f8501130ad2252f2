//! The `journeyman-sandbox` process.

fn main() {}
