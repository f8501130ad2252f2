//! The compose files, the manifests and the alerts are valid, and name only what exists.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use journeyman_schemas::home::data_home;
use journeyman_service::Metric;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs a validator that `cargo xtask setup --tests` installed, in the root; its output.
#[track_caller]
fn validate(program: &str, arguments: &[&str]) -> String {
    let installed = data_home().join("test-tools/bin").join(program);
    let path = if installed.exists() {
        installed
    } else {
        program.into()
    };
    let output = Command::new(&path)
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}; run `make setup-tests`", path.display()));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{program}: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

#[test]
fn compose_files_are_valid() {
    validate("docker-compose", &["-f", "compose/compose.yaml", "config", "-q"]);
}

#[test]
fn manifests_are_valid_in_strict_mode() {
    let manifests = validate("kubectl", &["kustomize", "k8s/base"]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("manifests.yaml");
    fs::write(&file, &manifests).unwrap();
    let report = validate("kubernetes-validate", &["--strict", &file.display().to_string()]);
    for service in services() {
        assert!(
            report.contains(&format!("deployment/{service} ")),
            "{service} has no deployment:\n{report}"
        );
        assert!(
            report.contains(&format!("poddisruptionbudget/{service} ")),
            "{service} has no budget"
        );
    }
}

#[test]
fn only_the_grader_mounts_the_answers() {
    for service in services() {
        let compose = fs::read_to_string(root().join(format!("compose/{service}.yaml"))).unwrap();
        let manifest = fs::read_to_string(root().join(format!("k8s/base/{service}.yaml"))).unwrap();
        let mounts = |text: &str| {
            text.lines()
                .any(|line| !line.trim_start().starts_with('#') && line.contains("answers"))
        };
        assert_eq!(mounts(&compose), service == "grader", "compose/{service}.yaml");
        assert_eq!(mounts(&manifest), service == "grader", "k8s/base/{service}.yaml");
    }
}

#[test]
fn alerts_fire_and_stay_silent_as_they_should() {
    validate("promtool", &["check", "rules", "compose/prometheus/rules.yml"]);
    validate(
        "promtool",
        &["test", "rules", "compose/prometheus/rules_test.yml"],
    );
}

#[test]
fn alerts_and_dashboards_name_only_metrics_that_exist() {
    let known: Vec<&str> = Metric::ALL.iter().map(|metric| metric.spec().name).collect();
    let rules = fs::read_to_string(root().join("compose/prometheus/rules.yml")).unwrap();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let named: Vec<&str> = rules
        .split(|c| !is_name(c))
        .filter(|word| word.starts_with("journeyman_"))
        .collect();
    assert!(named.len() >= 5);
    for name in named {
        assert!(known.contains(&name), "{name} is no metric of any service");
    }
}

fn services() -> Vec<String> {
    let entries = fs::read_dir(root().join("services")).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}
