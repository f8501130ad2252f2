//! A checkpoint is whole or absent.

use super::*;

fn state(step: u64, adapter: &[u8], optimizer: &[u8]) -> RunState {
    RunState {
        step,
        adapter: ContentHash::of(adapter),
        optimizer: ContentHash::of(optimizer),
        versions: vec![ContentHash::of(adapter)],
        consumed: vec![0, 1],
        metrics: Vec::new(),
    }
}

fn save_step(directory: &Path, step: u64) {
    save(
        directory,
        &state(step, b"adapter", b"moments"),
        b"adapter",
        b"moments",
    )
    .unwrap();
}

#[test]
fn newest_checkpoint_is_loaded_and_old_ones_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    for step in 0..4 {
        save_step(dir.path(), step);
    }
    assert_eq!(load(dir.path()).unwrap().unwrap().state.step, 3);
    assert_eq!(list(dir.path()).unwrap().len(), KEPT);
}

#[test]
fn torn_checkpoint_falls_back_to_the_one_before() {
    let dir = tempfile::tempdir().unwrap();
    save_step(dir.path(), 1);
    save_step(dir.path(), 2);
    fs::write(dir.path().join("step-000002/adapter.safetensors"), b"torn").unwrap();
    assert_eq!(load(dir.path()).unwrap().unwrap().state.step, 1);
}

#[test]
fn state_missing_falls_back_to_the_one_before() {
    let dir = tempfile::tempdir().unwrap();
    save_step(dir.path(), 1);
    fs::create_dir(dir.path().join("step-000002")).unwrap();
    assert_eq!(load(dir.path()).unwrap().unwrap().state.step, 1);
}

#[test]
fn no_whole_checkpoint_is_an_error_that_says_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    save_step(dir.path(), 3);
    fs::write(dir.path().join("step-000003/optimizer.bin"), b"torn").unwrap();
    let error = load(dir.path()).unwrap_err().to_string();
    assert!(error.contains("optimizer.bin"), "{error}");
}

#[test]
fn empty_directory_holds_no_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    assert!(load(dir.path()).unwrap().is_none());
    assert!(load(&dir.path().join("absent")).unwrap().is_none());
}
