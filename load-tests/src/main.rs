//! load-tests

fn main() {}
