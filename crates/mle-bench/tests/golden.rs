//! Native graders against scores that MLE-bench's graders, scikit-learn and pandas gave.
//!
//! `golden_grades.json` came from MLE-bench's own graders; `generated.json` and `frames.json` are made by
//! `make_golden.py` with calls to scikit-learn, scipy, numpy and pandas.

use std::collections::BTreeMap;

use journeyman_mle_bench::{
    competition,
    frame::{
        Column, Frame,
        read::{ReadError, read},
    },
    graders::grader,
    python,
    score::Score,
};
use serde_json::Value;

/// Competitions in which logarithms, roots of unity or BLAS make the last bits depend on the machine: how many units
/// in the last place the raw value may differ.
fn ulps(competition: &str) -> u64 {
    let metric = &competition::find(competition).unwrap().metric;
    match metric.as_str() {
        "logloss_multi" | "logloss_bin" | "rmsle_mean_col" | "logmae_group" | "kl_div" | "laplace_ll" => 4,
        "logloss_weighted" | "auc_bias" | "auc_weighted" | "lwlrap" | "pearson" | "spearman_mean_col" => 64,
        "angular_error" | "haversine_pctl" => 256,
        _ => 0,
    }
}

fn frame(case: &Value, key: &str) -> Result<Frame, ReadError> {
    read(case[key].as_str().unwrap().as_bytes())
}

/// Checks one case; gives the competition's metric.
fn check(case: &Value) -> Result<String, String> {
    let id = case["competition"].as_str().unwrap();
    let name = format!("{id}: {}", case["note"].as_str().unwrap());
    let grade = grader(id).ok_or_else(|| format!("{name}: no grader"))?;
    let answers = frame(case, "answers_csv").unwrap();
    let score = frame(case, "submission_csv")
        .map_err(|error| error.to_string())
        .and_then(|submission| grade(&submission, &answers).map_err(|refusal| refusal.to_string()));
    match (score, case["raw_repr"].as_str()) {
        (Err(_), None) => {}
        (Err(message), Some(wanted)) => {
            return Err(format!("{name}: refused ({message}), but scores {wanted}"));
        }
        (Ok(score), None) => return Err(format!("{name}: {score:?}, but is invalid: {}", case["error"])),
        (Ok(score), Some(raw)) => {
            let wanted: f64 = raw.parse().unwrap();
            let near = score.raw().to_bits().abs_diff(wanted.to_bits()) <= ulps(id)
                || (score.raw() - wanted).abs() <= 1e-16 * ulps(id) as f64
                || (score.raw().is_nan() && wanted.is_nan());
            if !near {
                return Err(format!("{name}: {:?}, but is {wanted:?}", score.raw()));
            }
            let rounded: f64 = case["rounded"].as_str().unwrap().parse().unwrap();
            if score.rounded() != rounded && !(score.rounded().is_nan() && rounded.is_nan()) {
                return Err(format!(
                    "{name}: rounded {:?}, but is {rounded:?}",
                    score.rounded()
                ));
            }
            let is_numpy = case["raw_type"].as_str().unwrap() == "float64";
            if matches!(score, Score::Numpy(_)) != is_numpy {
                return Err(format!("{name}: {score:?} has the wrong type"));
            }
        }
    }
    Ok(competition::find(id).unwrap().metric.clone())
}

/// Checks all cases; gives how many there are of each metric.
#[track_caller]
fn check_all(json: &str) -> BTreeMap<String, usize> {
    let cases: Vec<Value> = serde_json::from_str(json).unwrap();
    let mut counts = BTreeMap::new();
    let mut wrong = Vec::new();
    for case in &cases {
        match check(case) {
            Ok(metric) => *counts.entry(metric).or_default() += 1,
            Err(problem) => wrong.push(problem),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    counts
}

#[test]
fn graders_give_the_scores_of_mle_bench() {
    let counts = check_all(include_str!("golden_grades.json"));
    assert_eq!(counts.values().sum::<usize>(), 41);
}

#[test]
fn graders_give_the_scores_of_scikit_learn_and_pandas() {
    let counts = check_all(include_str!("generated.json"));
    assert!(counts.values().sum::<usize>() >= 200, "{counts:?}");
    for competition in competition::all() {
        if grader(&competition.id).is_some() {
            assert!(
                counts.contains_key(&competition.metric),
                "no case of {}",
                competition.metric
            );
        }
    }
}

#[test]
fn every_competition_marked_easy_has_a_grader() {
    let table = include_str!("../data/competitions.tsv");
    let header: Vec<&str> = table.lines().next().unwrap().split('\t').collect();
    let effort = header.iter().position(|name| *name == "rust_effort").unwrap();
    let easy: Vec<&str> = table
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .filter(|fields| fields[effort].starts_with("easy"))
        .map(|fields| fields[0])
        .collect();
    assert_eq!(easy.len(), 69);
    for id in easy {
        assert!(grader(id).is_some(), "{id}");
    }
}

#[test]
fn frames_are_those_of_pandas() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("frames.json")).unwrap();
    assert!(cases.len() >= 100);
    let mut wrong = Vec::new();
    for case in &cases {
        let bytes: Vec<u8> = case["bytes"].as_str().map_or_else(
            || {
                let pieces = case["hex"].as_str().unwrap().as_bytes().chunks(2);
                let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
                pieces.map(byte).collect()
            },
            |text| text.as_bytes().to_vec(),
        );
        let (got, wanted) = (described(read(&bytes)), &case["frame"]);
        if got != *wanted {
            wrong.push(format!("{}:\n  {got}\n  {wanted}", case["note"]));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

/// A frame in the form of `frames.json`: names, types and the values as Python writes them.
fn described(frame: Result<Frame, ReadError>) -> Value {
    let Ok(frame) = frame else {
        return Value::Null;
    };
    let dtype = |column: &Column| match column {
        Column::Integers(_) => "int64",
        Column::Unsigned(_) => "uint64",
        Column::Floats(_) => "float64",
        Column::Booleans(_) => "bool",
        Column::Objects(_) => "object",
    };
    let columns: Vec<Value> = frame
        .names
        .iter()
        .zip(&frame.columns)
        .map(|(name, column)| {
            let values: Vec<String> = column.values().map(|value| value.text()).collect();
            serde_json::json!([name, dtype(column), values])
        })
        .collect();
    Value::Array(columns)
}

#[test]
fn numbers_are_written_as_python_writes_them() {
    for (value, text) in [
        (0.1, "0.1"),
        (1e16, "1e+16"),
        (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
        (1e15, "1000000000000000.0"),
        (1e-4, "0.0001"),
        (1e-5, "1e-05"),
        (-2.5e-10, "-2.5e-10"),
        (5e-324, "5e-324"),
        (-0.0, "-0.0"),
        (f64::NAN, "nan"),
        (f64::NEG_INFINITY, "-inf"),
    ] {
        assert_eq!(python::repr(value), text);
    }
}
