//! Tests of `config`.

use journeyman_service::config::parse;

use super::*;

#[test]
fn committed_file_equals_the_defaults() {
    let file: Config = parse(include_str!("../../config.toml"), "config.toml").unwrap();
    assert_eq!(file, Config::default());
}

#[test]
fn config_without_slots_or_memory_is_refused() {
    for (text, wanted) in [
        ("[grader]\nslots = 0", "`grader.slots` is `0`"),
        ("[grader]\nmemory_mib = 0", "`grader.memory_mib` is `0`"),
        ("[grader.validate]\nslots = 0", "`grader.validate.slots` is `0`"),
    ] {
        let config: Config = parse(text, "test").unwrap();
        let message = config.validate().unwrap_err().to_string();
        assert!(message.contains(wanted), "{message}");
    }
}
