//! Makes cargo take the build dependencies into account.

fn main() {}
