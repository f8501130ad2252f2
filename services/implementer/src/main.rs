//! The `journeyman-implementer` process.

fn main() {}
