//! Bad files: each gets a verdict with a sentence that tells what to change, and none makes the program fall over.

use std::{fs, fs::File, path::Path};

use journeyman_mle_bench::{
    competition,
    frame::read::{SIZE_LIMIT, read},
    grade::{Grading, Mode, Verdict},
    graders::grader,
    leaderboard::Standings,
    strict,
};
use serde_json::Value;

const ANSWERS: &str = "id,target\n1,0\n2,1\n3,0\n";

fn grading(answers: &str) -> Grading<'static> {
    let competition = competition::find("tabular-playground-series-may-2022").unwrap();
    Grading {
        competition,
        answers: read(answers.as_bytes()).unwrap(),
        standings: Standings::new(competition, Vec::new()),
        sample_submission: None,
    }
}

/// The verdicts in both modes on a file with these bytes.
fn verdicts(bytes: &[u8]) -> [Verdict; 2] {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("submission.csv");
    fs::write(&path, bytes).unwrap();
    [Mode::Compat, Mode::Strict].map(|mode| grading(ANSWERS).verdict(&path, mode))
}

#[track_caller]
fn refused(note: &str, bytes: &[u8], sentence: &str) {
    for verdict in verdicts(bytes) {
        match verdict {
            Verdict::Invalid(message) => assert!(message.contains(sentence), "{note}: {message}"),
            other => panic!("{note}: {other:?}"),
        }
    }
}

#[track_caller]
fn accepted(note: &str, bytes: &[u8]) {
    for verdict in verdicts(bytes) {
        assert!(matches!(verdict, Verdict::Valid(_)), "{note}: {verdict:?}");
    }
}

#[test]
fn bad_files_get_a_sentence_that_tells_what_to_change() {
    refused("empty", b"", "the file is empty; write a header");
    refused("blank lines", b"\n \n", "the file is empty");
    refused(
        "header only",
        b"id,target\n",
        "no rows; write one row per test row",
    );
    refused(
        "latin-1",
        b"id,target\n1,\xe9\n",
        "is not UTF-8; write the file with encoding",
    );
    refused("UTF-16", b"\xff\xfei\0d\0", "is not UTF-8");
    refused(
        "a quote never closed",
        b"id,target\n1,\"0.5\n2,0.5\n3,0.5\n",
        "opens on line 2 is never closed",
    );
    refused(
        "gzip named csv",
        &[0x1f, 0x8b, 8, 0, 0],
        "the file is compressed; write plain text",
    );
    refused(
        "a longer row",
        b"id,target\n1,0.5\n2,0.5,1\n",
        "line 3 has 3 fields",
    );
    refused("an id twice", b"id,target\n1,0.5\n1,0.5\n3,0.5\n", "id");
    refused("an id is missing", b"id,target\n1,0.5\n2,0.5\n", "row");
    refused("an unknown id", b"id,target\n1,0.5\n2,0.5\n9,0.5\n", "id");
    refused(
        "thousands separators",
        b"id,target\n1,\"1,000\"\n2,0.5\n3,0.5\n",
        "`1,000`, which is not a number",
    );
    refused(
        "infinite",
        b"id,target\n1,inf\n2,0.5\n3,0.5\n",
        "outside 0 to 1; write probabilities",
    );
    refused(
        "too large",
        b"id,target\n1,1e400\n2,0.5\n3,0.5\n",
        "`1e400`, which is not a number",
    );
    refused(
        "negative",
        b"id,target\n1,-0.5\n2,0.5\n3,0.5\n",
        "outside 0 to 1; write probabilities",
    );
    refused("NUL", b"id,target\n1,\0\n2,0.5\n3,0.5\n", "missing or infinite");
    refused(
        "no target",
        b"id,other\n1,0.5\n2,0.5\n3,0.5\n",
        "the column `target` is missing",
    );
    refused(
        "labels never seen",
        b"id,target\n1,cat\n2,0.5\n3,0.5\n",
        "`cat`, which is not a number",
    );
    let wide = |last: &str| {
        let header: Vec<String> = (0..10_000).map(|column| format!("c{column}")).collect();
        let row = vec!["1"; 10_000].join(",");
        format!("{}\n{row}\n{row}\n{row}{last}\n", header.join(",")).into_bytes()
    };
    refused("10,000 columns", &wide(""), "the column `");
    refused("10,001 fields", &wide(",1"), "line 4 has 10001 fields");
}

#[test]
fn harmless_oddities_are_accepted() {
    accepted("BOM", "\u{feff}id,target\n1,0.1\n2,0.9\n3,0.2\n".as_bytes());
    accepted("CRLF", b"id,target\r\n1,0.1\r\n2,0.9\r\n3,0.2\r\n");
    accepted("no newline at the end", b"id,target\n1,0.1\n2,0.9\n3,0.2");
    accepted("an extra column", b"id,target,note\n1,0.1,x\n2,0.9,y\n3,0.2,z\n");
    accepted("another order", b"target,id\n0.2,3\n0.1,1\n0.9,2\n");
    accepted("NUL after a number", b"id,target\n1,0.1\0\n2,0.9\n3,0.2\n");
}

#[test]
fn files_that_are_none_are_missing() {
    let directory = tempfile::tempdir().unwrap();
    let missing = |path: &Path, sentence: &str| match grading(ANSWERS).verdict(path, Mode::Compat) {
        Verdict::Missing(message) => assert!(message.contains(sentence), "{message}"),
        other => panic!("{other:?}"),
    };
    missing(&directory.path().join("none.csv"), "there is no such file");
    let as_directory = directory.path().join("submission.csv");
    fs::create_dir(&as_directory).unwrap();
    missing(&as_directory, "it is a directory");
    let text = directory.path().join("submission.txt");
    fs::write(&text, "id,target\n").unwrap();
    missing(&text, "does not end in .csv");
}

#[test]
fn file_above_the_limit_is_refused_unread() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("submission.CSV");
    File::create(&path).unwrap().set_len(SIZE_LIMIT + 1).unwrap();
    match grading(ANSWERS).verdict(&path, Mode::Compat) {
        Verdict::Invalid(message) => assert!(message.contains("2147483648 bytes; at most"), "{message}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn report_has_the_keys_of_mle_bench_in_order_and_says_why_a_score_is_null() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("submission.csv");
    fs::write(&path, "id,target\n1,0.1\n2,0.9\n3,0.2\n").unwrap();
    let grading = grading(ANSWERS);
    let verdict = grading.verdict(&path, Mode::Compat);
    let report = grading.report(&path, &verdict, "2026-01-02T03:04:05.000006".to_owned(), true);
    let json = serde_json::to_string(&report).unwrap();
    let keys = [
        "competition_id",
        "score",
        "gold_threshold",
        "silver_threshold",
        "bronze_threshold",
        "median_threshold",
        "any_medal",
        "gold_medal",
        "silver_medal",
        "bronze_medal",
        "above_median",
        "submission_exists",
        "valid_submission",
        "is_lower_better",
        "created_at",
        "submission_path",
        "score_raw",
    ];
    let places: Vec<usize> = keys
        .map(|key| json.find(&format!("\"{key}\":")).unwrap())
        .to_vec();
    assert!(places.is_sorted(), "{json}");
    assert_eq!(report.score, Some(1.0));
    assert!(report.gold_medal && report.any_medal && report.above_median);

    let competition = competition::find("us-patent-phrase-to-phrase-matching").unwrap();
    let grading = Grading {
        competition,
        answers: read(b"id,score\na,0\nb,1\n").unwrap(),
        standings: Standings::new(competition, Vec::new()),
        sample_submission: None,
    };
    fs::write(&path, "id,score\na,0.5\nb,0.5\n").unwrap();
    let verdict = grading.verdict(&path, Mode::Compat);
    let report = grading.report(&path, &verdict, String::new(), true);
    assert_eq!(
        (report.score, report.valid_submission, report.any_medal),
        (None, true, false)
    );
    assert!(report.reason.unwrap().contains("NaN"));
    assert!(matches!(
        grading.verdict(&path, Mode::Strict),
        Verdict::Invalid(_)
    ));
}

#[test]
fn no_grader_falls_over_on_any_file() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("generated.json")).unwrap();
    let tables: Vec<Value> = serde_json::from_str(include_str!("frames.json")).unwrap();
    let odd = [
        "",
        "nan",
        "-1",
        "1e300",
        "inf",
        "x",
        "1 2 3",
        "True",
        "9223372036854775808",
        "\"a b\"",
    ];
    let mut graded = 0;
    for facts in competition::all() {
        let Some(grade) = grader(&facts.id) else { continue };
        let Some(case) = cases.iter().find(|case| case["competition"] == facts.id.as_str()) else {
            continue;
        };
        let answers = read(case["answers_csv"].as_str().unwrap().as_bytes()).unwrap();
        let good = read(case["submission_csv"].as_str().unwrap().as_bytes()).unwrap();
        let mut files: Vec<String> = tables
            .iter()
            .filter_map(|case| case["bytes"].as_str().map(str::to_owned))
            .collect();
        for value in odd {
            for column in 0..good.names.len() {
                let row = |row: usize| -> String {
                    let fields = (0..good.names.len()).map(|other| {
                        if other == column {
                            value.to_owned()
                        } else {
                            format!(
                                "\"{}\"",
                                good.columns[other].value(row).text().replace('"', "\"\"")
                            )
                        }
                    });
                    fields.collect::<Vec<_>>().join(",")
                };
                let rows: Vec<String> = (0..good.rows).map(row).collect();
                files.push(format!("{}\n{}\n", good.names.join(","), rows.join("\n")));
            }
        }
        for file in files {
            let Ok(submission) = read(file.as_bytes()) else {
                continue;
            };
            for answers in [&answers, &submission] {
                graded += usize::from(grade(&submission, answers).is_ok());
                if let Ok(aligned) = strict::align(&submission, answers, facts) {
                    graded += usize::from(grade(&aligned, answers).is_ok());
                }
            }
        }
    }
    assert!(graded > 100, "{graded}");
}
