//! Tests of `grading`: MLE-bench's golden cases, and what the halves do.

use std::{fs, path::PathBuf};

use serde::Deserialize;
use tempfile::TempDir;

use super::*;

#[derive(Deserialize)]
struct Case {
    competition: String,
    note: String,
    submission_csv: String,
    answers_csv: String,
    raw_repr: Option<String>,
}

/// A task whose both halves are all rows.
fn whole(metric: &str, id: &str, targets: &[&str], classes: &[&str], answers: &str) -> GradingTask {
    let lower = ["rmse", "rmsle", "mae", "log_loss"].contains(&metric);
    let (worst, best) = if lower { (1.0, 0.0) } else { (0.0, 1.0) };
    let text = format!(
        "id = \"t\"\nname = \"t\"\nmetric = \"{metric}\"\nlower_is_better = {lower}\nid_column = \"{id}\"\n\
         target_columns = {targets:?}\nclasses = {classes:?}\nreference = {{ worst = {worst:?}, best = {best:?} }}\n\
         limits = {{ program_s = 1.0, grade_s = 1.0 }}\n[source]\npackage = \"\"\nversion = \"\"\nsha256 = \"\"\n\
         file = \"\"\nlicence = \"\"\norigin = \"\"\n"
    );
    let definition = Definition::parse(&text, "t", Path::new("task.toml")).unwrap();
    let (ids, truth) = read_answers(&definition, answers.as_bytes()).unwrap();
    let rows: Vec<usize> = (0..ids.len()).collect();
    GradingTask {
        definition,
        ids,
        truth,
        reward_rows: rows.clone(),
        report_rows: rows,
    }
}

#[test]
fn grading_gives_the_raw_scores_of_mle_bench() {
    let cases: Vec<Case> =
        serde_json::from_str(include_str!("../../testdata/mle_bench_grades.json")).unwrap();
    let mut checked = 0;
    for case in cases {
        let answers = &case.answers_csv;
        let mut submission = case.submission_csv.clone();
        let task = match case.competition.as_str() {
            "tabular-playground-series-dec-2021" => whole(
                "accuracy",
                "Id",
                &["Cover_Type"],
                &["0", "1", "2", "3", "4", "5", "6", "7"],
                answers,
            ),
            "spaceship-titanic" => whole(
                "accuracy",
                "PassengerId",
                &["Transported"],
                &["False", "True"],
                answers,
            ),
            "tabular-playground-series-may-2022" => whole("auc", "id", &["target"], &[], answers),
            "detecting-insults-in-social-commentary" => whole("auc", "Comment", &["Insult"], &[], answers),
            "spooky-author-identification" => whole("log_loss", "id", &["EAP", "HPL", "MWS"], &[], answers),
            "lmsys-chatbot-arena" => {
                let targets = ["winner_model_a", "winner_model_b", "winner_tie"];
                whole("log_loss", "id", &targets, &[], answers)
            }
            "new-york-city-taxi-fare-prediction" => {
                // MLE-bench never compares these ids; here they are made to agree.
                submission = submission.replace("zzz", "id0");
                whole("rmse", "key", &["fare_amount"], &[], answers)
            }
            other => panic!("no task for `{other}`"),
        };
        let graded = task.grade(submission.as_bytes());
        match case.raw_repr {
            // The one quirk that strict grading does not share.
            Some(_) if case.note == "extra column ok" => {
                assert_eq!(graded.unwrap_err().kind, InvalidKind::Columns);
            }
            Some(raw) => {
                let (raw, score) = (raw.parse::<f64>().unwrap(), graded.unwrap().reward_half);
                let name = format!("{}, {}", case.competition, case.note);
                assert!(
                    (score - raw).abs() <= 4e-16 * raw.abs().max(1.0),
                    "{name}: {score} for {raw}"
                );
            }
            None => assert!(graded.is_err(), "{}, {}", case.competition, case.note),
        }
        checked += 1;
    }
    assert_eq!(checked, 18);
}

#[test]
fn multi_class_rows_that_do_not_sum_to_one_are_refused() {
    let task = whole("log_loss", "id", &["p", "q"], &[], "id,p,q\n1,1,0\n2,0,1\n");
    assert!(task.grade(b"id,p,q\n1,0.3,0.7\n2,0.5,0.5\n").is_ok());
    let invalid = task.grade(b"id,p,q\n1,1,1\n2,0.5,0.5\n").unwrap_err();
    assert_eq!(
        invalid.message,
        "line 2: the probabilities sum to 2; divide each row by its sum"
    );
}

#[test]
fn predictions_too_large_for_rmse_are_invalid() {
    let task = whole("rmse", "id", &["y"], &[], "id,y\n1,1\n2,2\n");
    assert_eq!(
        task.grade(b"id,y\n1,1e300\n2,2\n").unwrap_err().kind,
        InvalidKind::Values
    );
}

/// A prepared task on disk: four test rows, `a` and `b` count for the reward, `c` and `d` for the report.
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
        (
            "public/sample_submission.csv",
            "id,y\na,0.5\nb,0.5\nc,0.5\nd,0.5\n",
        ),
        ("private/answers.csv", "id,y\na,0\nb,1\nc,0\nd,1\n"),
        (
            "private/halves.csv",
            "id,half\na,reward\nb,reward\nc,report\nd,report\n",
        ),
    ] {
        let path = prepared(&dir).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    (home, dir)
}

#[test]
fn halves_are_scored_apart() {
    let (_home, dir) = on_disk();
    let task = GradingTask::load(&dir).unwrap();
    let graded = task.grade(b"id,y\na,0.1\nb,0.9\nc,0.9\nd,0.1\n").unwrap();
    assert_eq!(
        graded,
        Graded {
            reward_half: 1.0,
            report_half: 0.0
        }
    );
}

#[test]
fn debug_form_shows_no_answers() {
    let (_home, dir) = on_disk();
    assert_eq!(
        format!("{:?}", GradingTask::load(&dir).unwrap()),
        "GradingTask { id: TaskId(\"toy\"), rows: 4 }"
    );
}

#[test]
fn loading_names_task_file_and_problem() {
    for (file, text, wanted) in [
        ("private/answers.csv", None, "can't read"),
        ("private/halves.csv", None, "can't read"),
        ("public/sample_submission.csv", None, "can't read"),
        (
            "private/answers.csv",
            Some("id,y\na,0\na,1\nc,0\nd,1\n"),
            "has the id `a` twice",
        ),
        (
            "private/answers.csv",
            Some("id,y\na,2\nb,1\nc,0\nd,1\n"),
            "`y` has `2`; it must be 0 or 1",
        ),
        ("private/answers.csv", Some("id,z\na,2\n"), "has no column `y`"),
        (
            "private/halves.csv",
            Some("id,half\na,reward\nb,both\n"),
            "half is `both`",
        ),
        (
            "private/halves.csv",
            Some("id,half\na,reward\nb,reward\nc,report\n"),
            "lacks the id of data row 4",
        ),
        (
            "private/halves.csv",
            Some("id,half\nx,reward\n"),
            "has the id `x`, which answers.csv lacks",
        ),
        (
            "public/sample_submission.csv",
            Some("id,y\na,0.5\n"),
            "is not a valid submission: it has 1 rows",
        ),
    ] {
        let (_home, dir) = on_disk();
        let path = prepared(&dir).join(file);
        match text {
            None => fs::remove_file(&path).unwrap(),
            Some(text) => fs::write(&path, text).unwrap(),
        }
        let error = GradingTask::load(&dir).unwrap_err().to_string();
        assert!(
            error.contains("task `toy`") && error.contains(file) && error.contains(wanted),
            "{error}"
        );
    }
}

#[test]
fn half_of_a_single_class_can_not_be_loaded() {
    let (_home, dir) = on_disk();
    fs::write(
        prepared(&dir).join("private/halves.csv"),
        "id,half\na,reward\nb,report\nc,reward\nd,report\n",
    )
    .unwrap();
    assert!(GradingTask::load(&dir).is_err());
}

#[test]
fn regression_metrics_give_what_is_worked_out_by_hand() {
    let answers = "id,y\n1,0\n2,3\n3,8\n";
    let csv = b"id,y\n1,0\n2,1\n3,8\n";
    let score = |metric| {
        whole(metric, "id", &["y"], &[], answers)
            .grade(csv)
            .unwrap()
            .reward_half
    };
    // Errors 0, 2, 0; logarithms of 1 + value differ by ln(4/2).
    assert!((score("mae") - 2.0 / 3.0).abs() < 1e-15);
    assert!((score("rmse") - (4.0f64 / 3.0).sqrt()).abs() < 1e-15);
    assert!((score("rmsle") - (2.0f64.ln().powi(2) / 3.0).sqrt()).abs() < 1e-15);
    // Deviations from the means 11/3 and 3: (-11, -2, 13)/3 and (-3, -2, 5): 102/3 over the root of 294/9 · 38.
    assert!((score("pearson") - 34.0 / (294.0f64 / 9.0 * 38.0).sqrt()).abs() < 1e-15);
}

#[test]
fn values_that_a_metric_can_not_take_are_refused() {
    let task = whole("rmsle", "id", &["y"], &[], "id,y\n1,0\n2,3\n");
    let invalid = task.grade(b"id,y\n1,0\n2,-0.5\n").unwrap_err();
    assert_eq!(
        invalid.message,
        "line 3, column `y`: `-0.5` is out of range; the values are numbers from 0 on"
    );
    let definition = whole("rmsle", "id", &["y"], &[], "id,y\n1,0\n").definition;
    let answers = b"id,y\n1,-1\n";
    assert!(read_answers(&definition, answers).is_err());
}

#[test]
fn map_at_5_counts_the_place_of_the_right_guess() {
    let classes = ["ATL", "BOS", "JFK", "LAX", "ORD", "SFO"];
    let task = whole("map_at_5", "id", &["d"], &classes, "id,d\n1,ATL\n2,BOS\n3,SFO\n");
    // First, third (a repeated guess keeps its place), and not among the guesses.
    let graded = task
        .grade(b"id,d\n1,ATL\n2,LAX LAX  BOS\n3,ATL BOS JFK LAX ORD\n")
        .unwrap();
    assert!((graded.reward_half - (1.0 + 1.0 / 3.0) / 3.0).abs() < 1e-15);
    for (csv, wanted) in [
        (
            "id,d\n1,\n2,BOS\n3,SFO\n",
            "line 2, column `d`: there are 0 labels; write one to 5",
        ),
        (
            "id,d\n1,ATL BOS JFK LAX ORD SFO\n2,BOS\n3,SFO\n",
            "there are 6 labels",
        ),
        (
            "id,d\n1,ATL\n2,BOS XXX\n3,SFO\n",
            "line 3, column `d`: `XXX` is not one of the labels `ATL`",
        ),
    ] {
        let invalid = task.grade(csv.as_bytes()).unwrap_err();
        assert!(invalid.message.contains(wanted), "{invalid}");
    }
}

#[test]
fn mean_auc_is_the_mean_of_the_columns() {
    let task = whole(
        "auc_mean",
        "id",
        &["p", "q"],
        &[],
        "id,p,q\n1,0,1\n2,1,1\n3,0,0\n",
    );
    // p: 0.9 above 0.1 and tied with 0.9, 3/4. q: both above 0.2, 1.
    let graded = task.grade(b"id,q,p\n1,0.5,0.1\n2,0.3,0.9\n3,0.2,0.9\n").unwrap();
    assert_eq!(graded.reward_half, (0.75 + 1.0) / 2.0);
}

/// Rows a and b are one half, c and d the other.
fn pearson_in_halves() -> GradingTask {
    let mut task = whole("pearson", "id", &["y"], &[], "id,y\na,1\nb,2\nc,3\nd,5\n");
    (task.reward_rows, task.report_rows) = (vec![0, 1], vec![2, 3]);
    task
}

#[test]
fn constant_predictions_have_no_correlation_and_are_invalid() {
    let invalid = pearson_in_halves()
        .grade(b"id,y\na,7\nb,7\nc,7\nd,7\n")
        .unwrap_err();
    assert_eq!(invalid.kind, InvalidKind::Values);
    assert!(
        invalid.message.contains("all predictions are the same"),
        "{invalid}"
    );
}

#[test]
fn validity_of_a_correlation_does_not_tell_the_halves_apart() {
    // Two rows that differ from the rest: in one half or in both, it is valid.
    for csv in [
        "id,y\na,1\nb,2\nc,7\nd,7\n",
        "id,y\na,7\nb,7\nc,1\nd,2\n",
        "id,y\na,7\nb,1\nc,7\nd,1\n",
    ] {
        assert!(pearson_in_halves().grade(csv.as_bytes()).is_ok(), "{csv}");
    }
    let graded = pearson_in_halves().grade(b"id,y\na,1\nb,2\nc,7\nd,7\n").unwrap();
    assert!((graded.reward_half - 1.0).abs() < 1e-12);
    assert_eq!(graded.report_half, 0.0);
}

#[test]
fn what_a_message_says_does_not_depend_on_the_answers() {
    let classes = ["x", "y"];
    for (metric, targets, classes, one, other) in [
        (
            "auc",
            vec!["y"],
            vec![],
            "id,y\n1,0\n2,1\n3,0\n",
            "id,y\n1,1\n2,0\n3,1\n",
        ),
        (
            "rmsle",
            vec!["y"],
            vec![],
            "id,y\n1,0\n2,1\n3,0\n",
            "id,y\n1,9\n2,8\n3,7\n",
        ),
        (
            "pearson",
            vec!["y"],
            vec![],
            "id,y\n1,0\n2,1\n3,0\n",
            "id,y\n1,9\n2,8\n3,7\n",
        ),
        (
            "accuracy",
            vec!["y"],
            classes.to_vec(),
            "id,y\n1,x\n2,x\n3,y\n",
            "id,y\n1,y\n2,y\n3,x\n",
        ),
        (
            "map_at_5",
            vec!["y"],
            classes.to_vec(),
            "id,y\n1,x\n2,x\n3,y\n",
            "id,y\n1,y\n2,y\n3,x\n",
        ),
    ] {
        let tasks = [one, other].map(|answers| whole(metric, "id", &targets, &classes, answers));
        for values in [
            ["", "", ""],
            ["x", "-1", "2"],
            ["7", "7", "7"],
            ["1e300", "-1e300", "0"],
            ["x x x x x x", "q", "y"],
        ] {
            let csv = format!("id,y\n1,{}\n2,{}\n3,{}\n", values[0], values[1], values[2]);
            let [one, other] = tasks
                .each_ref()
                .map(|task| task.grade(csv.as_bytes()).map(|_| ()));
            assert_eq!(one, other, "{metric} {values:?}");
        }
    }
}
