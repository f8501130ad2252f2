//! Files and columns that the description does not name.

use std::collections::BTreeSet;

use super::{Found, Material};
use crate::snippet::numbered;

pub(super) fn check(task: &Material) -> Vec<Found> {
    let text = &task.description;
    let mut found = Vec::new();
    let mut missing = |what: &str, names: Vec<&str>| {
        let Some(first) = names.first() else { return };
        let others = match names.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        found.push((
            "description.md".to_owned(),
            format!("it does not name the {what} `{first}`{others}; say what each is, in backquotes"),
        ));
    };
    // A folder with many files is named as a whole.
    let files: BTreeSet<&str> = task
        .public
        .iter()
        .map(|(name, _)| name.split('/').next().unwrap_or(name))
        .filter(|name| *name != "description.md" && !text.contains(*name))
        .collect();
    missing("file", files.into_iter().collect());

    let named = Named::of(text);
    let mut seen = BTreeSet::new();
    let columns: Vec<&str> = [&task.train, &task.test, &task.sample]
        .into_iter()
        .flat_map(|table| table.header())
        .filter(|name| seen.insert(*name) && !named.has(name))
        .collect();
    missing("column", columns);
    found
}

/// Names in backquotes, and runs of them like `item_01` to `item_27` or `A` to `Z`.
struct Named<'a> {
    names: BTreeSet<&'a str>,
    runs: Vec<(&'a str, u32, u32)>,
}

impl<'a> Named<'a> {
    fn of(text: &'a str) -> Self {
        // Between backquotes are the parts with odd numbers.
        let parts: Vec<&str> = text.split('`').collect();
        let names = parts.iter().copied().skip(1).step_by(2).collect();
        let runs = parts
            .windows(3)
            .skip(1)
            .step_by(2)
            .filter(|window| ["to", "…", "...", "–", "-"].contains(&window[1].trim()))
            .filter_map(|window| {
                let ((stem, first), (last_stem, last)) = (place(window[0])?, place(window[2])?);
                (stem == last_stem).then_some((stem, first, last))
            })
            .collect();
        Self { names, runs }
    }

    fn has(&self, column: &str) -> bool {
        let in_run = |(stem, number): (&str, u32)| {
            self.runs
                .iter()
                .any(|(of, first, last)| *of == stem && (*first..=*last).contains(&number))
        };
        self.names.contains(column) || place(column).is_some_and(in_run)
    }
}

/// Stem and number of a name in a run: `item_07` is the 7th `item_`, and a single letter stands in the alphabet.
fn place(name: &str) -> Option<(&str, u32)> {
    let mut letters = name.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if letter.is_ascii_alphabetic() => Some(("", u32::from(letter))),
        _ => numbered(name),
    }
}
