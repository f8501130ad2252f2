//! `cargo xtask tidy`: rules of the code base that the compiler does not check.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Longest source file without tests, lines.
const MAX_LINES: usize = 800;

/// The only crates that may name a library directly.
const ONLY: [(&str, &[&str]); 4] = [
    ("async-nats", &["journeyman-bus"]),
    ("redis", &["journeyman-store"]),
    ("burn", &["journeyman-lm"]),
    ("prometheus", &["journeyman-service"]),
];

/// Crates that stay free of input and output.
const PURE: [(&str, &[&str]); 4] = [
    (
        "journeyman-metrics",
        &[
            "tokio",
            "journeyman-bus",
            "journeyman-store",
            "journeyman-service",
            "burn",
        ],
    ),
    (
        "journeyman-mle-bench",
        &[
            "tokio",
            "journeyman-bus",
            "journeyman-store",
            "journeyman-service",
            "burn",
        ],
    ),
    (
        "journeyman-tasks",
        &[
            "tokio",
            "journeyman-bus",
            "journeyman-store",
            "journeyman-service",
        ],
    ),
    (
        "journeyman-rl",
        &[
            "tokio",
            "journeyman-bus",
            "journeyman-store",
            "journeyman-service",
            "burn",
        ],
    ),
];

/// Words of the hidden side of a task, and the only places that may know them, beside tests. The report half must not
/// reach a policy, a pool or a metric, and the answers nothing but the grader and the task's maker. The load test makes its
/// own tasks, and shows that ours and the peer give the same scores.
const HIDDEN: [(&str, &[&str]); 4] = [
    (
        "report_half",
        &[
            "crates/tasks/src/grading.rs",
            "services/grader/src/",
            "load-tests/src/grader/worker.rs",
        ],
    ),
    ("put_report", &["crates/store/src/", "services/grader/src/"]),
    ("store.report(", &[]),
    (
        "GradingTask",
        &[
            "crates/tasks/src/",
            "crates/cli/src/",
            "services/grader/src/",
            "load-tests/src/grader",
        ],
    ),
];

/// Runs every check and fails with all that is wrong.
pub(crate) fn run() -> Result<()> {
    let problems = problems(&root())?;
    if !problems.is_empty() {
        bail!("{} problems:\n{}", problems.len(), problems.join("\n"));
    }
    println!("tidy: nothing to mend");
    Ok(())
}

/// Everything that breaks a rule.
fn problems(root: &Path) -> Result<Vec<String>> {
    let dependencies = dependencies(root)?;
    let mut problems = wrong_dependencies(&dependencies);
    problems.extend(long_files(root)?);
    problems.extend(missing_from_architecture(root, &dependencies)?);
    problems.extend(service_names(root)?);
    problems.extend(hidden_words(root)?);
    Ok(problems)
}

/// The workspace's root directory.
pub(crate) fn root() -> PathBuf {
    // This crate lies in `crates/xtask`.
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Package → names of its normal dependencies.
type Dependencies = BTreeMap<String, Vec<String>>;

fn dependencies(root: &Path) -> Result<Dependencies> {
    let output = Command::new("cargo")
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root)
        .output()
        .context("can't run cargo metadata")?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")?;
    let names = |package: &Value| {
        let listed = package["dependencies"].as_array().into_iter().flatten();
        listed
            .filter(|dependency| dependency["kind"].is_null())
            .filter_map(|dependency| dependency["name"].as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata lists no packages")?;
    Ok(packages
        .iter()
        .filter_map(|package| Some((package["name"].as_str()?.to_owned(), names(package))))
        .collect())
}

fn wrong_dependencies(dependencies: &Dependencies) -> Vec<String> {
    let services: Vec<String> = service_folders(&root()).unwrap_or_default();
    let mut problems = Vec::new();
    for (package, names) in dependencies {
        for name in names {
            let service = services
                .iter()
                .any(|service| *name == format!("journeyman-{service}"));
            let may_see_services = ["journeyman-tests"].contains(&package.as_str());
            if service && !may_see_services {
                problems.push(format!(
                    "{package} depends on the service {name}: talk to it over the bus"
                ));
            }
            for (library, owners) in ONLY {
                if name == library && !owners.contains(&package.as_str()) {
                    problems.push(format!("{package} depends on {library}: only {owners:?} may"));
                }
            }
        }
        for (pure, banned) in PURE {
            for name in names
                .iter()
                .filter(|name| package == pure && banned.contains(&name.as_str()))
            {
                problems.push(format!("{package} is pure, but depends on {name}"));
            }
        }
    }
    problems
}

fn long_files(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for file in source_files(root)? {
        let is_test = is_test(&file);
        let lines = fs::read_to_string(&file)?.lines().count();
        if lines > MAX_LINES && !is_test {
            problems.push(format!(
                "{} has {lines} lines: {MAX_LINES} at most, split it",
                file.display()
            ));
        }
    }
    Ok(problems)
}

fn is_test(file: &Path) -> bool {
    file.components().any(|part| {
        ["tests", "it", "tests.rs"]
            .iter()
            .any(|name| part.as_os_str() == *name)
    })
}

/// Words of the hidden side where they don't belong.
fn hidden_words(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for file in source_files(root)? {
        let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        // This file spells them all.
        if !is_test(&file) && name != "crates/xtask/src/tidy.rs" {
            problems.extend(hidden_words_of(&name, &fs::read_to_string(&file)?));
        }
    }
    Ok(problems)
}

fn hidden_words_of(name: &str, text: &str) -> Vec<String> {
    HIDDEN
        .iter()
        .filter(|(word, places)| text.contains(word) && !places.iter().any(|place| name.starts_with(place)))
        .map(|(word, _)| {
            format!("{name} names `{word}`: the hidden half and the answers stay with the grader")
        })
        .collect()
}

fn source_files(root: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "*.rs"])
        .current_dir(root)
        .output()
        .context("can't run git")?;
    let listed = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    Ok(listed
        .lines()
        .map(|line| root.join(line))
        .filter(|path| path.exists())
        .collect())
}

/// ARCHITECTURE.md names every crate, and no crate that is gone.
fn missing_from_architecture(root: &Path, dependencies: &Dependencies) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).context("ARCHITECTURE.md is missing")?;
    let named = |package: &String| text.contains(&format!("`{package}`"));
    let unnamed = dependencies.keys().filter(|package| !named(package));
    let mut problems: Vec<String> = unnamed
        .map(|package| format!("ARCHITECTURE.md does not name `{package}`"))
        .collect();
    for word in text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.starts_with("journeyman-"))
    {
        if word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !dependencies.contains_key(word) {
            problems.push(format!("ARCHITECTURE.md names `{word}`, which is gone"));
        }
    }
    Ok(problems)
}

/// A service has one name: folder, package, compose file, Kubernetes manifest.
fn service_names(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for service in service_folders(root)? {
        let places = [
            format!("services/{service}/config.toml"),
            format!("compose/{service}.yaml"),
            format!("k8s/base/{service}.yaml"),
        ];
        for place in places {
            if !root.join(&place).exists() {
                problems.push(format!("the service {service} has no {place}"));
            }
        }
    }
    Ok(problems)
}

fn service_folders(root: &Path) -> Result<Vec<String>> {
    let mut folders: Vec<String> = fs::read_dir(root.join("services"))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    folders.sort();
    Ok(folders)
}

#[cfg(test)]
mod tests;
