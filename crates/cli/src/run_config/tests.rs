//! A typo is refused with its line, and the resolved config reads back as itself.

use super::*;

const LEAST: &str = "[run]\nid = \"a\"\ntask = \"mlc-churn\"\nsteps = 1\n[model]\nid = \"m\"\n";

fn load_text(text: &str) -> Result<RunConfig> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("run.toml");
    std::fs::write(&path, text)?;
    load(&path)
}

#[test]
fn typo_names_line_and_valid_keys() {
    let error = load_text(&format!("{LEAST}[optimizer]\nlearning_rat = 1\n"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("line 8") && error.contains("learning_rate"),
        "{error}"
    );
}

#[test]
fn value_out_of_range_names_the_field() {
    let error = format!(
        "{:#}",
        load_text(&LEAST.replace("steps = 1", "steps = 0")).unwrap_err()
    );
    assert!(
        error.contains("`run.steps` is 0") && error.contains("at least 1"),
        "{error}"
    );
}

#[test]
fn missing_file_is_named() {
    let error = load(Path::new("no/such.toml")).unwrap_err().to_string();
    assert!(error.contains("no/such.toml"), "{error}");
}

#[test]
fn resolved_config_reads_back_as_itself() {
    let config = load_text(LEAST).unwrap();
    let again: RunConfig = toml::from_str(&to_toml(&config).unwrap()).unwrap();
    assert_eq!(config, again);
}

#[test]
fn weight_that_is_no_number_or_negative_names_the_field() {
    for (section, key) in [
        ("grpo", "weight_score"),
        ("grpo", "weight_brevity"),
        ("grpo", "score_std_floor"),
        ("optimizer", "weight_decay"),
    ] {
        for value in ["nan", "-0.5", "inf"] {
            let error = load_text(&format!("{LEAST}[{section}]\n{key} = {value}\n")).unwrap_err();
            let text = format!("{error:#}");
            assert!(
                text.contains(&format!("`{section}.{key}`")) && text.contains("0 or above"),
                "{text}"
            );
        }
    }
}
