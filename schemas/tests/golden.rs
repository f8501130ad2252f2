//! Every message has a frozen example in `golden/`, which every later version must still read.

use std::{fs, path::Path};

use journeyman_schemas::{
    reward::{EndOutcome, RolloutEnd},
    samples::samples,
};
use serde_json::{Value, json};

fn file(folder: &str, name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(folder)
        .join(format!("{name}.json"));
    fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask golden`", path.display()))
}

#[test]
fn golden_messages_are_what_the_types_write() {
    for sample in samples().unwrap() {
        let golden: Value = serde_json::from_str(&file("golden", sample.name)).unwrap();
        assert_eq!(
            golden, sample.json,
            "{}: a changed format needs `cargo xtask golden` and a review",
            sample.name
        );
    }
}

#[test]
fn golden_messages_are_read_and_written_again() {
    for sample in samples().unwrap() {
        let text = file("golden", sample.name);
        let again = (sample.round_trip)(&text).unwrap_or_else(|error| panic!("{}: {error}", sample.name));
        assert_eq!(
            again,
            serde_json::from_str::<Value>(&text).unwrap(),
            "{}",
            sample.name
        );
    }
}

#[test]
fn fields_of_newer_writers_are_ignored() {
    for sample in samples().unwrap() {
        let mut message = sample.json.clone();
        message["a_field_of_tomorrow"] = json!({"x": [1, 2, 3]});
        if message.get("body").is_some() {
            message["body"]["a_field_of_tomorrow"] = json!(true);
        }
        let again = (sample.round_trip)(&message.to_string())
            .unwrap_or_else(|error| panic!("{}: {error}", sample.name));
        assert_eq!(again, sample.json, "{}", sample.name);
    }
}

#[test]
fn end_of_an_older_writer_without_place_and_parts_is_read() {
    let mut old: Value = serde_json::from_str(&file("golden", "rollout_end")).unwrap();
    let reward = old["outcome"]["rewarded"]["reward"].as_object_mut().unwrap();
    assert!(reward.remove("place").is_some() && reward.remove("parts").is_some());
    let end: RolloutEnd = serde_json::from_value(old).unwrap();
    let EndOutcome::Rewarded(rewarded) = end.outcome else {
        panic!("{end:?}");
    };
    assert_eq!((rewarded.reward.place, rewarded.reward.parts), (None, None));
}

#[test]
fn golden_messages_obey_their_schema() {
    for sample in samples().unwrap() {
        let schema: Value = serde_json::from_str(&file("json", sample.name)).unwrap();
        assert_eq!(
            schema,
            Value::from(sample.schema.clone()),
            "{}: run `cargo xtask golden`",
            sample.name
        );
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&sample.json)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{}: {errors:?}", sample.name);
    }
}

#[test]
fn messages_stay_under_the_limit() {
    for sample in samples().unwrap() {
        assert!(
            sample.json.to_string().len() < journeyman_schemas::MESSAGE_LIMIT_BYTES / 8,
            "{}",
            sample.name
        );
    }
}
