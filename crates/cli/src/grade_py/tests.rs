//! A small repository in MLE-bench's form, made here.

use std::fs;

use super::*;

fn repository() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let module = root.path().join("mlebench");
    let competition = module.join("competitions/a-task");
    fs::create_dir_all(&competition).unwrap();
    for directory in [&module, &module.join("competitions"), &competition] {
        fs::write(directory.join("__init__.py"), "").unwrap();
    }
    fs::write(
        module.join("utils.py"),
        "import csv\n\
         def read_csv(path): return list(csv.DictReader(open(path)))\n\
         load_answers = read_csv\n\
         def load_yaml(path): return {'grader': {'grade_fn': 'mlebench.competitions.a-task.grade:grade'}}\n",
    )
    .unwrap();
    fs::write(
        competition.join("grade.py"),
        "def grade(submission, answers):\n\
        \x20   print('noise')\n\
        \x20   if len(submission) != len(answers): raise ValueError('rows')\n\
        \x20   return sum(s == a for s, a in zip(submission, answers)) / len(answers)\n",
    )
    .unwrap();
    fs::write(root.path().join("answers.csv"), "id,x\n1,2\n2,3\n").unwrap();
    root
}

async fn grade(root: &Path, submission: &str) -> Result<Verdict> {
    let path = root.join("submission.csv");
    fs::write(&path, submission).unwrap();
    run(
        Path::new("python3"),
        root,
        "a-task",
        &path,
        &root.join("answers.csv"),
    )
    .await
}

#[tokio::test]
async fn grade_py_of_a_repository_gives_scores_and_refusals() {
    let root = repository();
    let half = grade(root.path(), "id,x\n1,2\n2,9\n").await.unwrap();
    assert_eq!(half, Verdict::Valid(Score::Python(0.5)));
    let short = grade(root.path(), "id,x\n1,2\n").await.unwrap();
    assert_eq!(short, Verdict::Invalid("ValueError: rows".to_owned()));
    let missing = run(
        Path::new("python3"),
        root.path(),
        "a-task",
        &root.path().join("none.csv"),
        &root.path().join("answers.csv"),
    )
    .await
    .unwrap();
    assert!(matches!(missing, Verdict::Missing(_)));
}

#[tokio::test]
async fn grade_py_that_does_not_run_is_an_error() {
    let root = repository();
    fs::remove_file(root.path().join("mlebench/competitions/a-task/grade.py")).unwrap();
    let error = grade(root.path(), "id,x\n1,2\n").await.unwrap_err();
    assert!(error.to_string().contains("can't be run"), "{error}");
}
