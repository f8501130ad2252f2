//! Tests of `lint`: each leak is planted into a clean task, and exactly its rule must find it.

use std::{fs, path::PathBuf};

use tempfile::TempDir;

use super::*;

/// A small clean task on disk, in parts that a test can spoil.
struct Planted {
    _home: TempDir,
    dir: PathBuf,
}

const TRAIN: usize = 60;
const TEST: usize = 40;

/// A fixed sequence without pattern, 0 to 999.
fn noise(row: usize, column: usize) -> usize {
    let mut state = (row * 31 + column * 7_919 + 12_345) as u64;
    for _ in 0..4 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state ^= state >> 29;
    }
    (state % 1_000) as usize
}

fn label(row: usize) -> usize {
    noise(row, 9) % 2
}

/// Numbers that go with the regression form of the task.
fn amount(row: usize) -> usize {
    noise(row, 1) + noise(row, 2)
}

impl Planted {
    /// The columns a, b and c; c is noise, and a + b is `amount`.
    fn clean() -> Self {
        let home = tempfile::tempdir().unwrap();
        let task = Self {
            dir: home.path().join("toy"),
            _home: home,
        };
        let features = |row: usize| format!("{},{},w{}", noise(row, 1), noise(row, 3), noise(row, 4));
        task.write("task.toml", &definition("auc", 0.5, 0.9));
        task.write("starter.py", "predictions = None\n");
        task.write(
            "public/description.md",
            "# Toy\n\n`train.csv`, `test.csv`, `sample_submission.csv`: `id`, `a`, `b`, `c`, `y`\n",
        );
        task.table("public/train.csv", "id,a,b,c,y", 0..TRAIN, |row| {
            format!("{},{}", features(row), label(row))
        });
        task.table("public/test.csv", "id,a,b,c", TRAIN..TRAIN + TEST, features);
        task.table(
            "public/sample_submission.csv",
            "id,y",
            TRAIN..TRAIN + TEST,
            |_| "0.5".into(),
        );
        task.table("private/answers.csv", "id,y", TRAIN..TRAIN + TEST, |row| {
            label(row).to_string()
        });
        task.table("private/halves.csv", "id,half", TRAIN..TRAIN + TEST, |row| {
            ["reward", "report"][row % 2].into()
        });
        task
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.dir.join("prepared").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.dir.join("prepared").join(file)).unwrap()
    }

    fn table(
        &self,
        file: &str,
        header: &str,
        rows: std::ops::Range<usize>,
        fields: impl Fn(usize) -> String,
    ) {
        let lines: Vec<String> = rows.map(|row| format!("{row},{}\n", fields(row))).collect();
        self.write(file, &format!("{header}\n{}", lines.concat()));
    }

    /// Adds a column `leak` to train and test, and to the description.
    fn add_column(&self, field: impl Fn(usize) -> String) {
        for (file, first) in [("public/train.csv", 0), ("public/test.csv", TRAIN)] {
            let text = self.read(file);
            let mut lines = text.lines();
            let mut wider = format!("{},leak\n", lines.next().unwrap());
            for (place, line) in lines.enumerate() {
                wider += &format!("{line},{}\n", field(first + place));
            }
            self.write(file, &wider);
        }
        self.describe("leak");
    }

    fn describe(&self, name: &str) {
        let text = self.read("public/description.md");
        self.write("public/description.md", &format!("{text}\n`{name}`\n"));
    }

    /// Makes it a regression: the target is `amount`, the metric RMSE.
    fn regression(self) -> Self {
        // What the sample's 0.5 scores on the reward half, the even rows.
        let squares: Vec<f64> = (TRAIN..TRAIN + TEST)
            .step_by(2)
            .map(|row| (amount(row) as f64 - 0.5).powi(2))
            .collect();
        let worst = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
        self.write("task.toml", &definition("rmse", worst, 0.0));
        let train = self.read("public/train.csv");
        let mut lines = train.lines();
        let mut text = format!("{}\n", lines.next().unwrap());
        for (row, line) in lines.enumerate() {
            text += &format!("{},{}\n", line.rsplit_once(',').unwrap().0, amount(row));
        }
        self.write("public/train.csv", &text);
        self.table("private/answers.csv", "id,y", TRAIN..TRAIN + TEST, |row| {
            amount(row).to_string()
        });
        self
    }

    fn findings(&self) -> Vec<Finding> {
        lint(&self.dir).unwrap()
    }

    /// Exactly one finding, of this rule, whose line holds these words.
    #[track_caller]
    fn found(&self, rule: Rule, words: &[&str]) {
        let findings = self.findings();
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(lines.len(), 1, "{lines:#?}");
        assert_eq!(findings[0].rule, rule, "{lines:#?}");
        assert!(lines[0].starts_with(rule.as_str()), "{lines:#?}");
        for word in words {
            assert!(lines[0].contains(word), "`{word}` in {lines:#?}");
        }
    }
}

fn definition(metric: &str, worst: f64, best: f64) -> String {
    format!(
        "id = \"toy\"\nname = \"Toy\"\nmetric = \"{metric}\"\nlower_is_better = {}\nid_column = \"id\"\ntarget_columns \
         = [\"y\"]\nreference = {{ worst = {worst:?}, best = {best:?} }}\nlimits = {{ program_s = 1.0, grade_s = 1.0 \
         }}\n[source]\npackage = \"\"\nversion = \"\"\nsha256 = \"\"\nfile = \"\"\nlicence = \"\"\norigin = \"\"\n",
        worst > best
    )
}

fn ladder(rungs: &[(&str, f64)]) -> String {
    let rung = |(name, score): &(&str, f64)| {
        format!(
            "[[ladder]]\nname = \"{name}\"\nprogram = \"\"\nreward = {score:?}\nreport = {score:?}\ncpu_s = 1.0\n"
        )
    };
    rungs.iter().map(rung).collect()
}

#[test]
fn clean_task_has_no_findings() {
    assert_eq!(Planted::clean().findings(), []);
    assert_eq!(Planted::clean().regression().findings(), []);
}

#[test]
fn test_row_that_train_has_is_found_whatever_its_case() {
    let task = Planted::clean();
    let train = task.read("public/train.csv");
    let features: Vec<&str> = train.lines().nth(1).unwrap().split(',').collect();
    let test = task.read("public/test.csv");
    let last = test.trim_end().rsplit_once('\n').unwrap();
    let row = format!("{}.0,{},{}", features[1], features[2], features[3].to_uppercase());
    task.write(
        "public/test.csv",
        &format!("{}\n{},{row}\n", last.0, last.1.split(',').next().unwrap()),
    );
    task.found(
        Rule::RepeatedRows,
        &["test.csv", "1 of 40 rows", "id `99`", "id `0`"],
    );
}

#[test]
fn column_that_gives_the_target_away_is_found_in_every_form() {
    let task = Planted::clean();
    task.add_column(|row| format!("{}.0", label(row)));
    task.found(Rule::TargetColumns, &["`leak`", "equals `y`"]);

    let task = Planted::clean();
    task.add_column(|row| ["red", "blue"][label(row)].into());
    task.found(Rule::TargetColumns, &["`leak`", "a value for each label"]);

    let task = Planted::clean();
    task.add_column(|row| (label(row) * 2_000 + noise(row, 5)).to_string());
    task.found(Rule::TargetColumns, &["`leak`", "AUC of 1.0000"]);

    let task = Planted::clean().regression();
    task.add_column(|row| (2 * amount(row) + noise(row, 5) / 50).to_string());
    task.found(
        Rule::TargetColumns,
        &["`leak`", "it has the correlation", "with `y`"],
    );
}

#[test]
fn columns_that_sum_up_to_the_target_are_found() {
    let task = Planted::clean().regression();
    task.add_column(|row| noise(row, 2).to_string());
    task.found(
        Rule::TargetColumns,
        &["columns", "`a`", "`leak`", "sum up to `y`"],
    );
}

#[test]
fn ids_and_row_order_that_tell_the_target_are_found() {
    // Ids of train sorted by label: zeros first.
    let task = Planted::clean();
    let train = task.read("public/train.csv");
    let (header, rows) = train.split_once('\n').unwrap();
    let mut rows: Vec<&str> = rows.lines().map(|line| line.split_once(',').unwrap().1).collect();
    rows.sort_by_key(|row| row.rsplit_once(',').unwrap().1);
    let rows: String = rows
        .iter()
        .zip(0..)
        .map(|(row, id)| format!("{id},{row}\n"))
        .collect();
    task.write("public/train.csv", &format!("{header}\n{rows}"));
    task.found(Rule::OrderedIds, &["train.csv", "column `id`", "`y`"]);

    // Rows of test sorted by a number, their ids shuffled.
    let task = Planted::clean().regression();
    let test = task.read("public/test.csv");
    let (header, rows) = test.split_once('\n').unwrap();
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.sort_by_key(|row| amount(row.split(',').next().unwrap().parse().unwrap()));
    task.write("public/test.csv", &format!("{header}\n{}\n", rows.join("\n")));
    task.found(Rule::OrderedIds, &["test.csv", "order of ids or rows"]);
}

#[test]
fn hashes_of_labels_are_found_in_columns_and_files() {
    use sha2::Digest;
    type Hash = fn(String) -> String;
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
    let md5: Hash = |text| {
        md5::Md5::digest(text)
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect()
    };
    let sha1: Hash = |text| {
        sha1::Sha1::digest(text)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    };
    let sha256: Hash = |text| {
        sha2::Sha256::digest(text)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    };
    for hash in [md5, sha1, sha256] {
        for plain in [
            |row: usize| label(row).to_string(),
            |row: usize| format!("{row}:{}", label(row)),
            |row: usize| format!("{}{row}", label(row)),
        ] {
            let task = Planted::clean();
            task.add_column(|row| hash(plain(row)));
            task.found(Rule::LabelsInPublic, &["column `leak`", "hashes"]);
        }
    }
    let task = Planted::clean();
    let row = TRAIN + 3;
    let text = hex(&sha2::Sha256::digest(format!("{row}_{}", label(row))));
    task.write("public/notes/check.txt", &format!("sum: {text}\n"));
    task.describe("notes");
    task.found(Rule::LabelsInPublic, &["notes/check.txt", "hashes of labels"]);
}

#[test]
fn copies_of_labels_are_found_in_other_files() {
    let task = Planted::clean();
    task.write("public/solution.csv", &task.read("private/answers.csv"));
    task.describe("solution.csv");
    task.found(Rule::LabelsInPublic, &["solution.csv", "column `y`"]);

    let task = Planted::clean();
    let pairs: Vec<String> = (TRAIN..TRAIN + TEST)
        .rev()
        .map(|row| format!("\"{row}\": {}", label(row)))
        .collect();
    task.write("public/meta.json", &format!("{{{}}}", pairs.join(", ")));
    task.describe("meta.json");
    task.found(Rule::LabelsInPublic, &["meta.json", "pairs the ids"]);
}

#[test]
fn sample_submission_with_labels_in_it_is_found() {
    let task = Planted::clean();
    task.table(
        "public/sample_submission.csv",
        "id,y",
        TRAIN..TRAIN + TEST,
        |row| {
            if row % 3 == 0 {
                "0.5".into()
            } else {
                label(row).to_string()
            }
        },
    );
    task.found(
        Rule::Sample,
        &["sample_submission.csv", "reference.worst scores 0.50000"],
    );
}

#[test]
fn metric_direction_and_ladder_that_disagree_are_found() {
    let with = |from: &str, to: &str, rungs: &[(&str, f64)]| {
        let task = Planted::clean();
        let text = definition("auc", 0.5, 0.9).replace(from, to);
        task.write("task.toml", &format!("{text}{}", ladder(rungs)));
        task
    };
    let good = [("baseline", 0.5), ("forest", 0.9)];
    assert_eq!(with("", "", &good).findings(), []);
    with("better = false", "better = true", &good).found(Rule::Metric, &["lower_is_better is `true`"]);
    with("", "", &[("baseline", 0.5), ("linear", 0.7)])
        .found(Rule::Metric, &["reference.best", "0.9", "`linear`", "0.7"]);
    with(
        "",
        "",
        &[("baseline", 0.5), ("a", 0.1), ("b", 0.2), ("c", 0.3), ("d", 0.9)],
    )
    .found(
        Rule::Metric,
        &["3 of 5 programs are worse", "lower_is_better = false"],
    );
    with("best = 0.9", "best = 9.0", &[("baseline", 0.5), ("forest", 9.0)])
        .found(Rule::Metric, &["`forest`", "9 can't be one"]);

    // Measured with MAE, but the task says RMSE: the sample's score gives it away.
    let task = Planted::clean().regression();
    task.write("task.toml", &definition("rmse", 700.0, 0.0));
    task.found(Rule::Metric, &["reference.worst", "it is 700", "`rmse`"]);
}

#[test]
fn file_and_column_without_a_word_are_found() {
    let task = Planted::clean();
    task.write("public/extra.txt", "nothing\n");
    task.found(Rule::Description, &["the file `extra.txt`"]);

    let task = Planted::clean();
    task.add_column(|row| noise(row, 6).to_string());
    let text = task.read("public/description.md").replace("`leak`", "leak");
    task.write("public/description.md", &text);
    task.found(Rule::Description, &["the column `leak`"]);
}

#[test]
fn runs_of_numbered_columns_are_named_by_their_ends() {
    let task = Planted::clean();
    task.add_column(|row| noise(row, 6).to_string());
    let spoil = |name: &str, words: &str| {
        for file in ["public/train.csv", "public/test.csv"] {
            task.write(file, &task.read(file).replacen("leak", name, 1));
        }
        let text = task.read("public/description.md");
        task.write("public/description.md", &text.replace("`leak`", words));
    };
    spoil("part_07", "`part_01` to `part_09`");
    assert_eq!(task.findings(), []);
    task.write(
        "public/description.md",
        &task.read("public/description.md").replace("part_09", "part_06"),
    );
    task.found(Rule::Description, &["the column `part_07`"]);
}

#[test]
fn directory_that_is_no_task_is_an_error() {
    let task = Planted::clean();
    fs::remove_file(task.dir.join("prepared/private/answers.csv")).unwrap();
    assert!(lint(&task.dir).unwrap_err().to_string().contains("answers.csv"));
    let task = Planted::clean();
    task.table("public/test.csv", "id,a,b,c,y", TRAIN..TRAIN + TEST, |_| {
        "1,2,3,0".into()
    });
    let error = lint(&task.dir).unwrap_err().to_string();
    assert!(
        error.contains("no column with what is to be predicted"),
        "{error}"
    );
}
