//! The committed configurations are what the code reads.

use super::*;

fn run_config(text: &str) -> Result<RunConfig, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.toml");
    std::fs::write(&path, text).unwrap();
    load_run(&path).map_err(|error| match std::error::Error::source(&error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    })
}

const LEAST: &str = "[run]\nid = \"a\"\ntask = \"mlc-churn\"\nsteps = 1\n[model]\nid = \"m\"\n";

#[test]
fn committed_run_configs_are_right() {
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let mut seen = 0;
    for entry in std::fs::read_dir(configs).unwrap() {
        load_run(&entry.unwrap().path()).unwrap();
        seen += 1;
    }
    assert!(seen >= 3);
}

#[test]
fn committed_config_equals_the_defaults() {
    let text = include_str!("../../config.toml");
    let config: Config = journeyman_service::config::parse(text, "config.toml").unwrap();
    assert_eq!(config, Config::default());
}

#[test]
fn least_config_takes_the_defaults() {
    let config = run_config(LEAST).unwrap();
    assert_eq!(
        config.rollouts,
        journeyman_schemas::run_config::RolloutsSection::default()
    );
}

#[test]
fn unknown_key_is_refused_with_its_line_and_the_valid_keys() {
    let error = run_config(&format!("{LEAST}[rollouts]\ngroup_sise = 8\n")).unwrap_err();
    assert!(
        error.contains("line 8") && error.contains("group_sise") && error.contains("group_size"),
        "{error}"
    );
}

#[test]
fn value_out_of_range_is_refused_with_field_value_and_range() {
    let error = run_config(&format!("{LEAST}[rollouts]\nimprove_probability = 1.5\n")).unwrap_err();
    assert!(
        error.contains("rollouts.improve_probability") && error.contains("1.5") && error.contains("0 to 1"),
        "{error}"
    );
    let error = run_config(&format!("{LEAST}[optimizer]\nlearning_rate = nan\n")).unwrap_err();
    assert!(error.contains("optimizer.learning_rate"), "{error}");
}
