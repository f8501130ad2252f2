//! Tests of `file`: what is refused without being read.

use std::fs;

use super::*;

#[track_caller]
fn refused(path: &Path, kind: InvalidKind, wanted: &str) {
    let invalid = read_file(path, 1000).unwrap_err();
    assert_eq!(invalid.kind, kind);
    assert!(invalid.message.contains(wanted), "{invalid}");
}

#[test]
fn file_within_the_limit_is_read() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("submission.csv");
    fs::write(&path, [b'x'; 1000]).unwrap();
    assert_eq!(read_file(&path, 1000), Ok(vec![b'x'; 1000]));
    assert_eq!(read_file(&path, 999).unwrap_err().kind, InvalidKind::TooLarge);
}

#[test]
fn sparse_file_of_two_gigabytes_is_refused_by_its_size() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("submission.csv");
    File::create(&path).unwrap().set_len(2 << 30).unwrap();
    refused(
        &path,
        InvalidKind::TooLarge,
        "it has 2147483648 bytes; at most 1000 are read, so write only the id and the target columns",
    );
}

#[test]
fn directory_missing_file_and_device_are_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("submission.csv");
    refused(
        &path,
        InvalidKind::Missing,
        "there is no file `submission.csv`; write it",
    );
    fs::create_dir(&path).unwrap();
    refused(
        &path,
        InvalidKind::Missing,
        "`submission.csv` is a directory; write a file of that name",
    );
    refused(
        Path::new("/dev/zero"),
        InvalidKind::Missing,
        "is not a plain file",
    );
}
