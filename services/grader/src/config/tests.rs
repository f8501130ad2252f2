//! Tests of `config`.

use journeyman_service::config::parse;

use super::*;

#[test]
fn committed_file_equals_the_defaults() {
    let file: Config = parse(include_str!("../../config.toml"), "config.toml").unwrap();
    assert_eq!(file, Config::default());
}

#[test]
fn config_without_slots_is_refused() {
    let config: Config = parse("[grader]\nslots = 0", "test").unwrap();
    let message = config.validate().unwrap_err().to_string();
    assert!(message.contains("`grader.slots` is `0`"), "{message}");
}
