//! Tests of `public`.

use std::fs;

use tempfile::TempDir;

use super::*;

/// A prepared task without its private side.
fn on_disk() -> (TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("toy");
    for (name, text) in [
        (
            "task.toml",
            "id = \"toy\"\nname = \"Toy\"\nmetric = \"auc\"\nlower_is_better = false\nid_column = \"id\"\n\
             target_columns = [\"y\"]\nreference = { worst = 0.5, best = 1.0 }\n\
             limits = { program_s = 1.0, grade_s = 1.0 }\n[source]\npackage = \"\"\nversion = \"\"\n\
             sha256 = \"\"\nfile = \"\"\nlicence = \"\"\norigin = \"\"\n",
        ),
        ("starter.py", "predictions = None\n"),
        ("public/description.md", "# Toy\n"),
        ("public/train.csv", "id,x,y\n1,2.5,0\n"),
        ("public/test.csv", "id,x\n2,3.5\n"),
        ("public/sample_submission.csv", "id,y\n2,0.5\n"),
    ] {
        let path = prepared(&dir).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    (home, dir)
}

#[test]
fn public_task_loads_without_a_private_side() {
    let (home, dir) = on_disk();
    let task = PublicTask::load(&dir).unwrap();
    assert_eq!(task.id().as_str(), "toy");
    assert_eq!(task.description(), "# Toy\n");
    assert_eq!(task.starter_code(), "predictions = None\n");
    assert!(task.data_snippet().contains("x float 2.5"));
    assert_eq!(task.data_dir(), dir.join("prepared/public"));
    assert_eq!(prepared_tasks(home.path()), [task.id().clone()]);
    assert_eq!(prepared_tasks(Path::new("/nowhere")), []);
}

#[test]
fn public_task_with_a_missing_file_names_file_and_task() {
    for file in [
        "task.toml",
        "starter.py",
        "public/description.md",
        "public/train.csv",
        "public/test.csv",
        "public/sample_submission.csv",
    ] {
        let (_home, dir) = on_disk();
        fs::remove_file(prepared(&dir).join(file)).unwrap();
        let error = PublicTask::load(&dir).unwrap_err().to_string();
        assert!(error.contains("task `toy`") && error.contains(file), "{error}");
        assert!(error.contains("journeyman tasks prepare toy"), "{error}");
    }
}

#[test]
fn public_task_whose_sample_does_not_fit_is_refused() {
    for (text, wanted) in [
        ("id,z\n2,0.5\n", "must be `id,y`"),
        ("id,y\n2,0.5\n3,0.5\n", "has 2 rows, but test.csv has 1"),
    ] {
        let (_home, dir) = on_disk();
        fs::write(prepared(&dir).join("public/sample_submission.csv"), text).unwrap();
        let error = PublicTask::load(&dir).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn summary_leaves_the_columns_to_the_snippet() {
    let before = "# Toy\n\nGoal.\n\n## Files\n\n- `train.csv`\n";
    let after = "\n## Metric\n\nAUC.\n";
    for (description, summary) in [
        (
            format!("{before}\n## Columns\n\n- `x`: x.\n{after}"),
            format!("{before}{after}"),
        ),
        (
            format!("{before}{after}\n## Columns\n\n- `x`: x.\n"),
            format!("{before}{after}"),
        ),
        (format!("{before}{after}"), format!("{before}{after}")),
    ] {
        let (_home, dir) = on_disk();
        fs::write(prepared(&dir).join("public/description.md"), &description).unwrap();
        assert_eq!(PublicTask::load(&dir).unwrap().summary(), summary);
    }
}
