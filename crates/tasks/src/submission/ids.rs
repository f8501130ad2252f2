//! The ids of a task's test rows: in little memory, found by order or by name.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hash},
};

use hashbrown::HashTable;

/// The ids that a submission must have, each once.
///
/// The names lie in one text, and the table holds row numbers: about 25 bytes per short id.
#[derive(Clone)]
pub struct Ids {
    text: String,
    /// Where each name ends in `text`; length = rows.
    ends: Vec<u32>,
    rows: HashTable<u32>,
    hasher: RandomState,
}

/// Shows how many there are, no names.
impl std::fmt::Debug for Ids {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ids").field("rows", &self.len()).finish()
    }
}

impl Ids {
    /// The ids in order; the error is the first that occurs twice, or what is too large (4 GiB of names).
    pub fn new<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Result<Self, String> {
        let names = names.into_iter();
        let mut ids = Self {
            text: String::new(),
            ends: Vec::with_capacity(names.size_hint().0),
            rows: HashTable::with_capacity(names.size_hint().0),
            hasher: RandomState::new(),
        };
        for name in names {
            ids.push(name.as_ref())?;
        }
        Ok(ids)
    }

    fn push(&mut self, name: &str) -> Result<(), String> {
        let row = u32::try_from(self.len()).map_err(|_| "the number of ids".to_owned())?;
        if self.row(name).is_some() {
            return Err(name.to_owned());
        }
        self.text.push_str(name);
        let end = u32::try_from(self.text.len()).map_err(|_| "the length of all ids".to_owned())?;
        self.ends.push(end);
        let Self {
            text,
            ends,
            rows,
            hasher,
        } = self;
        let rehash = |&row: &u32| hash(hasher, name_at(text, ends, row as usize));
        rows.insert_unique(hash(hasher, name), row, rehash);
        Ok(())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The id of row `row`, which must be below [`Ids::len`].
    pub fn name(&self, row: usize) -> &str {
        name_at(&self.text, &self.ends, row)
    }

    /// The row of an id.
    pub fn row(&self, id: &str) -> Option<usize> {
        let same = |&row: &u32| self.name(row as usize) == id;
        self.rows
            .find(hash(&self.hasher, id), same)
            .map(|&row| row as usize)
    }

    /// Whether the id of row `row` is written so; false if there is no such row.
    pub(super) fn is_named(&self, row: usize, bytes: &[u8]) -> bool {
        let Some(&end) = self.ends.get(row) else {
            return false;
        };
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.text.as_bytes()[start as usize..end as usize] == bytes
    }
}

fn name_at<'a>(text: &'a str, ends: &[u32], row: usize) -> &'a str {
    let start = if row == 0 { 0 } else { ends[row - 1] as usize };
    &text[start..ends[row] as usize]
}

fn hash(hasher: &RandomState, name: &str) -> u64 {
    let mut state = hasher.build_hasher();
    name.hash(&mut state);
    std::hash::Hasher::finish(&state)
}

#[cfg(test)]
mod tests;
