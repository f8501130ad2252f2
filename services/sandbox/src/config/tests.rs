//! The committed `config.toml` and the rules for values.

use journeyman_service::config::{ServiceConfig, parse};

use super::Config;

#[test]
fn committed_file_equals_the_defaults() {
    let file: Config = parse(include_str!("../../config.toml"), "config.toml").expect("it is right");
    assert_eq!(file, Config::default());
    file.validate().expect("defaults are right");
}

#[test]
fn values_that_cannot_work_are_named() {
    for (text, message) in [
        ("threads = 0", "`sandbox.threads` is `0`"),
        ("minimum_level = \"none\"", "`sandbox.minimum_level` is `none`"),
        ("first_uid = 33", "`sandbox.first_uid` is `33`"),
        (
            "slots = 9\nuids = 8",
            "`sandbox.uids` is `8`: it must be at least the number of programs at once, 9",
        ),
        (
            "submission_bytes = 1000000000",
            "`sandbox.submission_bytes` is `1000000000`",
        ),
    ] {
        let config: Config = parse(&format!("[sandbox]\n{text}\n"), "test").expect("it is TOML");
        let refused = config.validate().expect_err(text).to_string();
        assert!(refused.contains(message), "{refused}");
    }
}
