//! Tidy is a test too, and finds what it should.

use super::*;

#[test]
fn tree_is_tidy() {
    let problems = problems(&root()).unwrap();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn wrong_dependencies_are_found() {
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let dependencies = Dependencies::from([
        ("journeyman-cli".into(), names(&["redis"])),
        ("journeyman-grader".into(), names(&["journeyman-sandbox"])),
        ("journeyman-rl".into(), names(&["tokio"])),
        ("journeyman-store".into(), names(&["redis"])),
    ]);
    let found = wrong_dependencies(&dependencies);
    assert_eq!(found.len(), 3, "{found:?}");
}
