//! Tests of `definition`.

use super::*;

const GOOD: &str = r#"
id = "toy"
name = "Toy"
metric = "auc"
lower_is_better = false
id_column = "id"
target_columns = ["y"]
[reference]
worst = 0.5
best = 0.9
[limits]
program_s = 10.0
grade_s = 1.0
[source]
package = "toy"
version = "1"
sha256 = "00"
file = "toy.csv"
licence = "CC0"
origin = "made up"
"#;

fn parse(text: &str) -> Result<Definition, String> {
    Definition::parse(text, "toy", Path::new("task.toml")).map_err(|error| match error {
        TaskError::Definition { source, .. } => source.to_string(),
        other => other.to_string(),
    })
}

#[test]
fn definition_of_a_higher_is_better_task_keeps_the_sign() {
    let definition = parse(GOOD).unwrap();
    assert_eq!(definition.gain(0.7), 0.7);
    assert!((definition.normalised(0.7) - 0.5).abs() < 1e-12);
    assert_eq!(definition.submission_columns().collect::<Vec<_>>(), ["id", "y"]);
}

#[test]
fn definition_of_a_lower_is_better_task_turns_the_sign() {
    let text = GOOD
        .replace("\"auc\"", "\"rmse\"")
        .replace("lower_is_better = false", "lower_is_better = true")
        .replace("worst = 0.5", "worst = 10.0")
        .replace("best = 0.9", "best = 2.0");
    let definition = parse(&text).unwrap();
    assert_eq!(definition.gain(4.0), -4.0);
    assert_eq!(definition.normalised(4.0), 0.75);
}

#[test]
fn definition_with_a_typo_names_line_and_valid_keys() {
    let error = parse(&GOOD.replace("id_column", "id_colum")).unwrap_err();
    assert!(
        error.contains("id_colum") && error.contains("id_column") && error.contains("line 6"),
        "{error}"
    );
}

#[test]
fn definition_that_contradicts_itself_is_refused_with_field_and_value() {
    for (from, to, wanted) in [
        (
            "lower_is_better = false",
            "lower_is_better = true",
            "lower_is_better is `true`",
        ),
        ("[\"y\"]", "[]", "target_columns has 0 entries"),
        ("[\"y\"]", "[\"y\", \"z\"]", "target_columns has 2 entries"),
        ("[\"y\"]", "[\"id\"]", "contains the id_column `id`"),
        ("[\"y\"]", "[\"y\"]\nclasses = [\"0\"]", "classes has 1 entries"),
        ("\"auc\"", "\"accuracy\"", "classes has 0 entries"),
        ("\"auc\"", "\"map_at_5\"", "classes has 0 entries"),
        (
            "\"auc\"",
            "\"auc_mean\"",
            "the metric `auc_mean` takes at least two",
        ),
        ("best = 0.9", "best = 0.4", "reference.best `0.4`"),
        ("best = 0.9", "best = nan", "reference.best `NaN`"),
        ("grade_s = 1.0", "grade_s = 0.0", "limits.grade_s is `0`"),
        ("id = \"toy\"", "id = \"Toy!\"", "task id `Toy!` is not allowed"),
    ] {
        let error = parse(&GOOD.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(wanted), "{to}: {error}");
    }
}

#[test]
fn definition_of_a_directory_without_one_names_file_and_task() {
    let error = Definition::load(Path::new("/nowhere/toy"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("task `toy`") && error.contains("/nowhere/toy/prepared/task.toml"),
        "{error}"
    );
}

#[test]
fn metric_words_are_those_of_the_file() {
    for metric in Metric::ALL {
        let text = serde_json::to_string(&metric).unwrap();
        assert_eq!(text, format!("\"{}\"", metric.as_str()));
        assert_eq!(serde_json::from_str::<Metric>(&text).unwrap(), metric);
    }
}
