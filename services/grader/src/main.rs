//! The `journeyman-grader` process.

fn main() {}
