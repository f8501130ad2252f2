//! The committed `config.toml` and the rules for values.

use journeyman_service::config::{ServiceConfig, parse};

use super::Config;

#[test]
fn committed_file_equals_the_defaults() {
    let file: Config = parse(include_str!("../../config.toml"), "config.toml").unwrap();
    assert_eq!(file, Config::default());
}

#[test]
fn numbers_and_device_that_can_not_work_are_named() {
    let refused = |text: &str| {
        parse::<Config>(text, "test")
            .unwrap()
            .validate()
            .unwrap_err()
            .to_string()
    };
    let message = refused("[inference.engine]\nmax_rows = 0");
    assert!(
        message.contains("`inference.engine.max_rows` is `0`"),
        "{message}"
    );
    let message = refused("[inference.model]\ndevice = \"tpu\"");
    assert!(message.contains("`inference.model.device` is `tpu`"), "{message}");
}

#[test]
fn api_key_is_never_shown() {
    let mut config = Config::default();
    config.inference.http.api_key = "sesame".into();
    assert!(!format!("{config:?}").contains("sesame"));
    assert!(!serde_json::to_string(&config).unwrap().contains("sesame"));
}
