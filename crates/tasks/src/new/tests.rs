//! Tests of `new`: tables become tasks that pass the lint, or a sentence says what is wrong with them.

use super::*;
use crate::lint::{self, Rule};

fn wish(targets: &[&str], metric: Metric, id_column: Option<&str>) -> Wish {
    Wish {
        id: TaskId::new("mine").unwrap(),
        targets: targets.iter().map(|target| (*target).to_owned()).collect(),
        metric,
        id_column: id_column.map(str::to_owned),
    }
}

fn noise(row: usize, column: usize) -> usize {
    let hash = ContentHash::of(format!("{row},{column}").as_bytes());
    usize::from_str_radix(&hash.as_str()[..6], 16).unwrap() % 1000
}

/// 200 rows, sorted by the columns that can be predicted.
fn table() -> String {
    let mut rows: Vec<String> = (0..200)
        .map(|row| {
            let (size, grade) = (noise(row, 0), ["low", "mid", "top"][noise(row, 1) % 3]);
            let (yes, other) = (noise(row, 2) % 2, noise(row, 3) % 2);
            let gap = if row % 9 == 0 {
                String::new()
            } else {
                noise(row, 4).to_string()
            };
            format!(
                "{grade},{size},{yes},{other},k{row},{gap},\"some text, {}\"\n",
                noise(row, 5)
            )
        })
        .collect();
    rows.sort();
    format!("grade,size,yes,other,key,gap,text\n{}", rows.concat())
}

fn made(wish: &Wish, csv: &str) -> (tempfile::TempDir, PathBuf) {
    let tasks = tempfile::tempdir().unwrap();
    let dir = create(wish, csv.as_bytes(), "mine.csv", tasks.path()).unwrap();
    (tasks, dir)
}

fn error(wish: &Wish, csv: &str) -> String {
    let tasks = tempfile::tempdir().unwrap();
    let error = create(wish, csv.as_bytes(), "mine.csv", tasks.path()).unwrap_err();
    let left = fs::read_dir(tasks.path()).unwrap().count();
    assert_eq!(left, 0, "something was left behind by: {error}");
    error.to_string()
}

#[test]
fn table_becomes_a_clean_task_with_every_metric() {
    for (targets, metric, id) in [
        (vec!["yes"], Metric::Auc, None),
        (vec!["yes"], Metric::LogLoss, Some("key")),
        (vec!["yes", "other"], Metric::AucMean, None),
        (vec!["grade"], Metric::LogLoss, None),
        (vec!["grade"], Metric::Accuracy, Some("key")),
        (vec!["grade"], Metric::MapAt5, None),
        (vec!["size"], Metric::Rmse, None),
        (vec!["size"], Metric::Rmsle, None),
        (vec!["size"], Metric::Mae, Some("key")),
        (vec!["size"], Metric::Pearson, None),
    ] {
        let (_tasks, dir) = made(&wish(&targets, metric, id), &table());
        assert_eq!(lint::lint(&dir).unwrap(), [], "{targets:?} {metric:?}");
        let (public, grading) = (PublicTask::load(&dir).unwrap(), GradingTask::load(&dir).unwrap());
        let read = |file: &str| fs::read_to_string(dir.join("prepared").join(file)).unwrap();
        let sample = grading
            .grade(read("public/sample_submission.csv").as_bytes())
            .unwrap();
        let worst = public.definition().reference.worst;
        assert!(
            (sample.reward_half - worst).abs() < 1e-5,
            "{metric:?}: {sample:?}, {worst}"
        );
        // The answers themselves have a perfect score.
        let perfect = grading.grade(read("private/answers.csv").as_bytes()).unwrap();
        let normalised = [perfect.reward_half, perfect.report_half].map(|score| public.normalised(score));
        assert!(
            normalised.iter().all(|score| (score - 1.0).abs() < 1e-9),
            "{metric:?}: {perfect:?}"
        );

        let rows = |file: &str| read(file).lines().count() - 1;
        assert!(
            (45..=55).contains(&rows("public/test.csv")),
            "{}",
            rows("public/test.csv")
        );
        assert_eq!(rows("public/train.csv") + rows("public/test.csv"), 200);
        assert_eq!(rows("private/halves.csv"), rows("public/test.csv"));
        let report = read("private/halves.csv").matches(",report").count();
        assert!(rows("public/test.csv").abs_diff(2 * report) <= 10, "{report}");
        assert!(public.starter_code().contains("# TODO"));
    }
}

#[test]
fn same_table_makes_the_same_task_and_keeps_its_ids() {
    let wish = wish(&["yes"], Metric::Auc, Some("key"));
    let (one, two) = (
        made(&wish, &table()),
        made(&wish, &format!("\u{feff}{}", table())),
    );
    for file in [
        "public/train.csv",
        "public/test.csv",
        "private/answers.csv",
        "private/halves.csv",
    ] {
        let read = |dir: &PathBuf| fs::read_to_string(dir.join("prepared").join(file)).unwrap();
        assert_eq!(read(&one.1), read(&two.1));
        assert!(
            read(&one.1).lines().skip(1).all(|line| line.starts_with('k')),
            "{file}"
        );
    }
}

#[test]
fn rows_with_the_same_features_stay_on_one_side() {
    let mut csv = String::from("a,y\n");
    for row in 0..200 {
        csv += &format!("{},{}\n", row % 50, noise(row, 0) % 2);
    }
    let (_tasks, dir) = made(&wish(&["y"], Metric::Auc, None), &csv);
    let findings = lint::lint(&dir).unwrap();
    assert!(
        findings.iter().all(|finding| finding.rule != Rule::RepeatedRows),
        "{findings:?}"
    );
}

#[test]
fn leak_in_the_users_table_is_for_the_lint_to_find() {
    let csv: String = table()
        .lines()
        .enumerate()
        .map(|(row, line)| {
            let yes = line.split(',').nth(2).unwrap();
            if row == 0 {
                format!("{line},copy\n")
            } else {
                format!("{line},{yes}\n")
            }
        })
        .collect();
    let (_tasks, dir) = made(&wish(&["yes"], Metric::Auc, None), &csv);
    let findings = lint::lint(&dir).unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].to_string().contains("column `copy`"), "{findings:?}");
}

#[test]
fn wish_that_can_not_be_had_is_refused_with_the_reason() {
    let csv = table();
    let short: String = csv.lines().take(31).map(|line| format!("{line}\n")).collect();
    for (targets, metric, id, csv, wanted) in [
        (
            vec!["price"],
            Metric::Auc,
            None,
            &csv,
            "there is no column `price` for the target; there are `grade`, `size`",
        ),
        (
            vec!["yes"],
            Metric::Auc,
            Some("nr"),
            &csv,
            "there is no column `nr` for the id",
        ),
        (
            vec!["yes"],
            Metric::Auc,
            Some("yes"),
            &csv,
            "can't be both id and target",
        ),
        (
            vec!["yes"],
            Metric::Auc,
            Some("grade"),
            &csv,
            "the id column `grade` has `low` twice",
        ),
        (
            vec!["yes"],
            Metric::AucMean,
            None,
            &csv,
            "takes more than one target column, but 1 are named",
        ),
        (
            vec!["yes", "other"],
            Metric::Auc,
            None,
            &csv,
            "takes one target column, but 2 are named",
        ),
        (
            vec!["grade"],
            Metric::Auc,
            None,
            &csv,
            "needs 0 and 1, but holds 3 values, such as `low`, `mid`, `top`",
        ),
        (
            vec!["grade"],
            Metric::Rmse,
            None,
            &csv,
            "needs numbers, but holds `low`",
        ),
        (
            vec!["key"],
            Metric::Accuracy,
            None,
            &csv,
            "nearly every row has a value of its own (200 in 200 rows",
        ),
        (
            vec!["gap"],
            Metric::Mae,
            None,
            &csv,
            "23 rows have no value in it",
        ),
        (
            vec!["yes"],
            Metric::Auc,
            None,
            &short,
            "the table has 30 rows, but needs 40",
        ),
        (
            vec!["yes"],
            Metric::Auc,
            None,
            &csv.replace("key", "id"),
            "there is a column `id`: name it with --id",
        ),
        (
            vec!["size"],
            Metric::Rmsle,
            None,
            &csv.replace(",1,", ",-1,").replace("low,", "low,-"),
            "needs numbers from 0 on",
        ),
        (
            vec!["y"],
            Metric::Auc,
            None,
            &format!("y\n{}", "0\n1\n".repeat(30)),
            "no column to predict from",
        ),
        (
            vec!["y"],
            Metric::Auc,
            None,
            &format!("a,y\n{}", "1,1\n".repeat(60)),
            "nothing to predict",
        ),
        (
            vec!["y"],
            Metric::Auc,
            None,
            &"a,y\n1,0\n2\n".to_owned(),
            "the table can't be read",
        ),
        (
            vec!["y"],
            Metric::Auc,
            None,
            &String::new(),
            "the table can't be read",
        ),
        (
            vec!["yes"],
            Metric::Auc,
            None,
            &csv.replace("other", "size"),
            "the column `size` is there twice",
        ),
    ] {
        let message = error(&wish(&targets, metric, id), csv);
        assert!(message.contains(wanted), "{wanted}: {message}");
    }
}

#[test]
fn task_that_is_there_or_built_in_is_not_replaced() {
    let mine = wish(&["yes"], Metric::Auc, None);
    let (tasks, dir) = made(&mine, &table());
    let again = create(&mine, table().as_bytes(), "mine.csv", tasks.path()).unwrap_err();
    assert!(again.to_string().contains("is there already"), "{again}");
    assert!(PublicTask::load(&dir).is_ok());
    let letter = Wish {
        id: TaskId::new("letter").unwrap(),
        ..mine
    };
    let error = create(&letter, table().as_bytes(), "mine.csv", tasks.path()).unwrap_err();
    assert!(error.to_string().contains("built-in"), "{error}");
}
