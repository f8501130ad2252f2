//! Admission keeps the staleness bound and survives a restart.

use super::*;

fn open(dir: &tempfile::TempDir, first_slot: u64) -> Admission {
    Admission::open(&dir.path().join("admission.json"), first_slot).unwrap()
}

#[test]
fn capacity_follows_the_worked_examples() {
    // (η + v + 1)·B − (consumed + running): docs/rl.md 5.5 with B = 32, no concurrency limit.
    let dir = tempfile::tempdir().unwrap();
    let mut admission = open(&dir, 0);
    assert_eq!(admission.capacity(0, 0, 32), 32);
    for _ in 0..160 {
        admission.fill(0, State::Scratch).unwrap();
    }
    assert_eq!(admission.capacity(5, 2, 32), 8 * 32 - 160);
    assert_eq!(admission.capacity(3, 2, 32), 6 * 32 - 160);
    assert_eq!(admission.capacity(0, 2, 32), 0);
}

#[test]
fn staleness_never_passes_the_bound_in_any_schedule() {
    for staleness in 0..4 {
        for groups_per_step in 1..4 {
            let dir = tempfile::tempdir().unwrap();
            let mut admission = open(&dir, 0);
            for version in 0..12 {
                while admission.capacity(version, staleness, groups_per_step) > 0 {
                    admission.fill(version, State::Scratch).unwrap();
                }
                for (_, slot) in admission.slots().take(groups_per_step as usize) {
                    assert!(version - slot.policy_version <= staleness);
                }
                // Every other step the trainer dies before it consumes, and comes back.
                if version % 2 == 0 {
                    admission = open(&dir, version * groups_per_step);
                }
                admission.consume(groups_per_step).unwrap();
            }
        }
    }
}

#[test]
fn refill_keeps_the_slot_and_takes_a_new_group() {
    let dir = tempfile::tempdir().unwrap();
    let mut admission = open(&dir, 0);
    admission.fill(0, State::Scratch).unwrap();
    admission.fill(0, State::Scratch).unwrap();
    assert_eq!(admission.refill(0, 1, State::Scratch).unwrap(), 2);
    let groups: Vec<_> = admission
        .slots()
        .map(|(slot, filled)| (slot, filled.group, filled.refills))
        .collect();
    assert_eq!(groups, [(0, 2, 1), (1, 1, 0)]);
}

#[test]
fn refill_gives_up_after_three_times() {
    let dir = tempfile::tempdir().unwrap();
    let mut admission = open(&dir, 0);
    admission.fill(0, State::Scratch).unwrap();
    for _ in 0..MAX_REFILLS {
        admission.refill(0, 0, State::Scratch).unwrap();
    }
    let error = admission.refill(0, 0, State::Scratch).unwrap_err();
    assert!(matches!(error, AdmissionError::Exhausted { slot: 0 }));
}

#[test]
fn restart_finds_slots_and_numbers_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let mut admission = open(&dir, 0);
    for _ in 0..4 {
        admission.fill(0, State::Scratch).unwrap();
    }
    admission.mark_dispatched(2).unwrap();
    // The checkpoint of step 1 (B = 2) was written, the ledger was not told.
    let admission = open(&dir, 2);
    let slots: Vec<_> = admission
        .slots()
        .map(|(slot, filled)| (slot, filled.group, filled.dispatched))
        .collect();
    assert_eq!(slots, [(2, 2, true), (3, 3, false)]);
    assert_eq!(admission.next_group(), 4);
}

#[test]
fn corrupt_ledger_is_an_error_that_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("admission.json");
    std::fs::write(&path, "{").unwrap();
    let error = Admission::open(&path, 0).unwrap_err();
    assert!(error.to_string().contains("admission.json"));
}
