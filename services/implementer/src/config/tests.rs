//! The committed `config.toml` and the rules for values.

use journeyman_service::config::{ServiceConfig, parse};

use super::Config;

#[test]
fn committed_file_equals_the_defaults() {
    let file: Config = parse(include_str!("../../config.toml"), "config.toml").unwrap();
    assert_eq!(file, Config::default());
    file.validate().unwrap();
}

#[test]
fn no_slots_are_refused() {
    let config: Config = parse("[implementer]\nslots = 0\n", "test").unwrap();
    let refused = config.validate().unwrap_err().to_string();
    assert_eq!(refused, "`implementer.slots` is `0`: it must be at least 1");
}
