//! A typo is refused with its line, and the resolved config reads back as itself.

use journeyman_schemas::reward::{ChangeForm, RewardRule};

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

#[test]
fn reward_rule_that_is_unknown_is_refused_with_what_is_allowed() {
    let error = load_text(&format!("{LEAST}[reward]\nrule = \"medal\"\n"))
        .unwrap_err()
        .to_string();
    for allowed in ["medal", "auto", "score", "change", "rank", "ladder", "components"] {
        assert!(error.contains(&format!("`{allowed}`")), "{error}");
    }
}

#[test]
fn reward_rule_has_the_numbers_of_its_section() {
    let rule = |reward: &str| {
        load_text(&format!("{LEAST}[reward]\n{reward}\n"))
            .unwrap()
            .reward_rule()
    };
    let score = |invalid| RewardRule::Score { invalid, marker: 0.1 };
    assert_eq!(rule(""), score(-10.0));
    assert_eq!(rule("rule = \"score\"\ninvalid = -2.0"), score(-2.0));
    assert_eq!(
        rule("rule = \"rank\"\nmarker = 0.0"),
        RewardRule::Rank {
            invalid: -1.0,
            marker: 0.0
        }
    );
    assert_eq!(
        rule("rule = \"ladder\"\ninvalid = -0.5"),
        RewardRule::Ladder {
            invalid: -0.5,
            marker: 0.1
        }
    );
    assert_eq!(
        rule("rule = \"components\"\nweight_score = 3.0"),
        RewardRule::Components {
            validity: 1.0,
            markers: 0.5,
            score: 3.0
        }
    );
    assert_eq!(
        rule("rule = \"change\"\nchange = \"improved\""),
        RewardRule::Change {
            form: ChangeForm::Improved,
            malformed: -1.0
        }
    );
}

#[test]
fn reward_number_that_can_not_be_is_refused_by_name() {
    for (key, value, allowed) in [
        ("invalid", "inf", "a finite number"),
        ("marker", "nan", "a finite number"),
        ("malformed", "-inf", "a finite number"),
        ("weight_score", "-1.0", "0 or above"),
    ] {
        let error = load_text(&format!("{LEAST}[reward]\n{key} = {value}\n")).unwrap_err();
        let text = format!("{error:#}");
        assert!(
            text.contains(&format!("`reward.{key}`")) && text.contains(allowed),
            "{text}"
        );
    }
}
