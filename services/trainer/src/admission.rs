//! Which groups may be dispatched, and in which order they are consumed.
//!
//! A *slot* is a place in dispatch order; slot `j` is consumed at policy version `⌊j / B⌋`. At most
//! `(η + v + 1)·B` slots are filled at version `v`, so no rollout is consumed more than η versions after its
//! dispatch (docs of AReaL's capacity rule, made strict by consuming in dispatch order). A group that ends
//! without enough rewards is replaced in its own slot, by a newer group, which only lowers the staleness.

use std::{
    fs,
    path::{Path, PathBuf},
};

use journeyman_schemas::job::State;
use serde::{Deserialize, Serialize};

use crate::files::write_durably;

/// Replacements of one slot before the run gives up.
const MAX_REFILLS: u32 = 3;

/// The slots that are filled and not yet consumed; kept in a file, so that a restart knows what is under way.
#[derive(Debug)]
pub struct Admission {
    path: PathBuf,
    ledger: Ledger,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Ledger {
    next_group: u64,
    first_slot: u64,
    slots: Vec<Slot>,
}

/// One filled slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    /// The group that fills it.
    pub group: u64,
    /// Policy version at its dispatch.
    pub policy_version: u64,
    /// What its rollouts are shown.
    pub state: State,
    /// Groups that filled it before and ended without enough rewards.
    pub refills: u32,
    /// Whether every job of the group is in the queue.
    pub dispatched: bool,
}

/// Why a slot can't be filled.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// The same slot failed again and again.
    #[error(
        "slot {slot} failed {MAX_REFILLS} times: its groups ended without enough rewards; \
         see the dead letters and `journeyman status`"
    )]
    Exhausted {
        /// Which slot.
        slot: u64,
    },
    /// The ledger can't be read or written.
    #[error("can't keep the admission ledger `{path}`")]
    Ledger {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl Admission {
    /// Opens the ledger at `path`, or begins one. Slots before `first_slot` are consumed and forgotten.
    pub fn open(path: &Path, first_slot: u64) -> Result<Self, AdmissionError> {
        let fail = |source| AdmissionError::Ledger {
            path: path.to_owned(),
            source,
        };
        let mut ledger = match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| fail(error.into()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ledger {
                first_slot,
                ..Ledger::default()
            },
            Err(error) => return Err(fail(error)),
        };
        let consumed = first_slot.saturating_sub(ledger.first_slot) as usize;
        ledger.slots.drain(..consumed.min(ledger.slots.len()));
        ledger.first_slot = first_slot;
        Ok(Self {
            path: path.to_owned(),
            ledger,
        })
    }

    /// Slots that may still be filled at policy version `version`.
    pub fn capacity(&self, version: u64, staleness: u64, groups_per_step: u64) -> u64 {
        let allowed = (staleness + version + 1) * groups_per_step;
        allowed.saturating_sub(self.ledger.first_slot + self.ledger.slots.len() as u64)
    }

    /// A number for a group that fills no slot (filling the state pool).
    pub fn extra_group(&mut self) -> Result<u64, AdmissionError> {
        let group = self.take_group();
        self.save()?;
        Ok(group)
    }

    /// The group number that the next fill or refill will get.
    pub fn next_group(&self) -> u64 {
        self.ledger.next_group
    }

    /// Fills the next slot with a new group and tells which.
    pub fn fill(&mut self, policy_version: u64, state: State) -> Result<u64, AdmissionError> {
        let group = self.take_group();
        self.ledger.slots.push(Slot {
            group,
            policy_version,
            state,
            refills: 0,
            dispatched: false,
        });
        self.save()?;
        Ok(group)
    }

    /// Replaces the group in `slot` by a new one.
    pub fn refill(&mut self, slot: u64, policy_version: u64, state: State) -> Result<u64, AdmissionError> {
        let index = self.index(slot);
        let refills = self.ledger.slots[index].refills + 1;
        if refills > MAX_REFILLS {
            return Err(AdmissionError::Exhausted { slot });
        }
        let group = self.take_group();
        self.ledger.slots[index] = Slot {
            group,
            policy_version,
            state,
            refills,
            dispatched: false,
        };
        self.save()?;
        Ok(group)
    }

    /// Notes that every job of `group` is in the queue.
    pub fn mark_dispatched(&mut self, group: u64) -> Result<(), AdmissionError> {
        for slot in &mut self.ledger.slots {
            slot.dispatched |= slot.group == group;
        }
        self.save()
    }

    /// The filled slots with their numbers, in dispatch order.
    pub fn slots(&self) -> impl Iterator<Item = (u64, &Slot)> {
        (self.ledger.first_slot..).zip(&self.ledger.slots)
    }

    /// Forgets the first `count` slots: they are consumed, durably.
    pub fn consume(&mut self, count: u64) -> Result<(), AdmissionError> {
        self.ledger
            .slots
            .drain(..(count as usize).min(self.ledger.slots.len()));
        self.ledger.first_slot += count;
        self.save()
    }

    fn take_group(&mut self) -> u64 {
        let group = self.ledger.next_group;
        self.ledger.next_group += 1;
        group
    }

    fn index(&self, slot: u64) -> usize {
        (slot - self.ledger.first_slot) as usize
    }

    fn save(&self) -> Result<(), AdmissionError> {
        let fail = |source| AdmissionError::Ledger {
            path: self.path.clone(),
            source,
        };
        let bytes = serde_json::to_vec(&self.ledger).map_err(|error| fail(error.into()))?;
        write_durably(&self.path, &bytes).map_err(fail)
    }
}

#[cfg(test)]
mod tests;
