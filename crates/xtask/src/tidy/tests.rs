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

#[test]
fn hidden_side_of_a_task_is_found_outside_its_places() {
    let text = "let report = graded.report_half;\nstore.put_report(&key, report)";
    assert_eq!(
        hidden_words_of("services/grader/src/grade.rs", text),
        [] as [String; 0]
    );
    assert_eq!(hidden_words_of("services/trainer/src/run.rs", text).len(), 2);
    let text = "for (key, score) in self.store.report(&run).await? {";
    assert_eq!(hidden_words_of("services/trainer/src/run.rs", text).len(), 1);
    let text = "let task = GradingTask::load(dir)?;";
    assert_eq!(
        hidden_words_of("services/implementer/src/handler.rs", text).len(),
        1
    );
}
