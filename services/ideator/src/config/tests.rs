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
fn values_that_cannot_work_are_named() {
    for (text, message) in [
        ("[ideator]\nslots = 0", "`ideator.slots` is `0`"),
        ("[ideator]\nname = \"a.b\"", "`ideator.name` is `a.b`"),
        (
            "[ideator.help]\nmodel = \"Qwen 2.5\"",
            "`ideator.help.model` is `Qwen 2.5`",
        ),
        ("[ideator.help]\nadapter = \"x\"", "`ideator.help.adapter` is `x`"),
        (
            "[ideator.help]\nmax_tokens = 0",
            "`ideator.help.max_tokens` is `0`",
        ),
        ("[ideator.help]\nmax_ideas = 0", "`ideator.help.max_ideas` is `0`"),
        (
            "[ideator.help]\ntemperature = -1.0",
            "`ideator.help.temperature` is `-1`",
        ),
    ] {
        let config: Config = parse(text, "test").unwrap();
        let refused = config.validate().unwrap_err().to_string();
        assert!(refused.contains(message), "{refused}");
    }
}
