//! Trees in both layouts, made here.

use tempfile::TempDir;

use super::*;
use crate::competition::find;

const ID: &str = "spaceship-titanic";

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A data directory and a repository with one competition, whose sample submission is configured to lie in private/.
fn mle_bench() -> (TempDir, Directories) {
    let root = tempfile::tempdir().unwrap();
    let data = |path: &str, text: &str| write(root.path(), &format!("data/{ID}/prepared/{path}"), text);
    data("public/train.csv", "PassengerId,Transported\n1,True\n");
    data(
        "public/sample_submission.csv",
        "PassengerId,Transported\n2,False\n",
    );
    data("public/images/one.csv", "not checked\n");
    data("private/test.csv", "PassengerId,Transported\n2,True\n");
    data(
        "private/sample_submission.csv",
        "PassengerId,Transported\n2,True\n",
    );
    let repo = |path: &str, text: &str| {
        write(
            root.path(),
            &format!("repo/mlebench/competitions/{ID}/{path}"),
            text,
        )
    };
    repo(
        "config.yaml",
        &format!(
            "id: {ID}\nname: Spaceship Titanic\ncompetition_type: simple\nawards_medals: false\nprizes: null\n\
             description: mlebench/competitions/{ID}/description.md\n\n\
             dataset:\n  answers: {ID}/prepared/private/test.csv\n  \
             sample_submission: {ID}/prepared/private/sample_submission.csv\n\n\
             grader:\n  name: accuracy\n  grade_fn: mlebench.competitions.{ID}.grade:grade\n\n\
             preparer: mlebench.competitions.{ID}.prepare:prepare\n"
        ),
    );
    repo("description.md", "# Overview\n");
    repo(
        "leaderboard.csv",
        "scoreNullable,teamId,score\n,1,0.9\n,2,0.8\n,3,0.1\n",
    );
    // Sums by md5sum of coreutils.
    repo(
        "checksums.yaml",
        "private:\n  sample_submission.csv: 8530abc2f4a0e8fe3475c9e22fcc09a6\n  test.csv: 8530abc2f4a0e8fe3475c9e22fcc09a6\n\
         public:\n  sample_submission.csv: ce0b80e8f9bf2b1fc5f5c066b384b4e0\n  train.csv: 0\n\
         zip: 00000000000000000000000000000000\n",
    );
    let directories = Directories {
        data: Some(root.path().join("data")),
        repo: Some(root.path().join("repo")),
        dojo: None,
    };
    (root, directories)
}

#[test]
fn mle_bench_directory_loads_and_its_sample_comes_from_public() {
    let (root, directories) = mle_bench();
    assert_eq!(directories.ids(), [ID]);
    let prepared = directories.load(find(ID).unwrap()).unwrap();
    assert_eq!(prepared.name, "Spaceship Titanic");
    assert_eq!(prepared.description, "# Overview\n");
    assert_eq!(prepared.boards[0].teams(), 3);
    let sample = prepared.sample_submission.unwrap();
    assert!(sample.ends_with("public/sample_submission.csv"));

    fs::remove_file(&sample).unwrap();
    assert_eq!(
        directories.load(find(ID).unwrap()).unwrap().sample_submission,
        None
    );
    write(
        root.path(),
        &format!("repo/mlebench/competitions/{ID}/leaderboard.csv"),
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
    );
    let prepared = directories.load(find(ID).unwrap()).unwrap();
    assert!(prepared.boards.is_empty());
    assert!(prepared.notes[0].contains("Git LFS"));
}

#[test]
fn mle_bench_directory_without_repository_goes_by_the_table() {
    let (_root, mut directories) = mle_bench();
    directories.repo = None;
    let prepared = directories.load(find(ID).unwrap()).unwrap();
    assert!(prepared.answers.ends_with("private/test.csv"));
    assert!(prepared.sample_submission.is_some());
}

#[test]
fn checksums_name_what_differs() {
    let (root, directories) = mle_bench();
    let differences = directories.verify(find(ID).unwrap()).unwrap();
    assert_eq!(differences.len(), 1, "{differences:?}");
    assert!(differences[0].starts_with("public/train.csv has the MD5 sum"));
    write(
        root.path(),
        &format!("data/{ID}/prepared/public/extra.json"),
        "{}",
    );
    fs::remove_file(root.path().join(format!("data/{ID}/prepared/private/test.csv"))).unwrap();
    let differences = directories.verify(find(ID).unwrap()).unwrap();
    assert!(differences.contains(&"public/extra.json is not in checksums.yaml".to_owned()));
    assert!(differences.contains(&"private/test.csv is missing".to_owned()));
}

#[test]
fn configuration_that_leaves_its_directory_is_refused() {
    let (root, directories) = mle_bench();
    let path = format!("repo/mlebench/competitions/{ID}/config.yaml");
    let text = fs::read_to_string(root.path().join(&path)).unwrap();
    write(
        root.path(),
        &path,
        &text.replace(&format!("answers: {ID}/prepared"), "answers: ../prepared"),
    );
    let error = directories.load(find(ID).unwrap()).unwrap_err();
    assert!(error.to_string().contains("leaves its directory"), "{error}");
    write(root.path(), &path, "name: [unclosed\n");
    assert!(matches!(
        directories.load(find(ID).unwrap()),
        Err(DataError::Content { .. })
    ));
}

#[test]
fn dojo_directory_loads_with_both_boards() {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("public/description.txt", "Predict it.\n"),
        (
            "public/sample_submission.csv",
            "PassengerId,Transported\n2,False\n",
        ),
        ("private/test_answer.csv", "PassengerId,Transported\n2,True\n"),
        ("private/private_leaderboard.csv", "rank,score\n1,0.9\n2,0.5\n"),
        ("private/public_leaderboard.csv", "rank,score\n1,0.8\n2,0.5\n"),
    ] {
        write(root.path(), &format!("{ID}/{path}"), text);
    }
    let directories = Directories {
        dojo: Some(root.path().to_owned()),
        ..Directories::default()
    };
    let prepared = directories.load(find(ID).unwrap()).unwrap();
    assert_eq!(prepared.boards.len(), 2);
    assert_eq!(prepared.description, "Predict it.\n");
    let missing = directories.load(find("AI4Code").unwrap()).unwrap_err();
    assert!(missing.to_string().contains("not prepared"));
}
