//! Asks a frozen model where markers go, and reads its answer.

use std::ops::Range;

use journeyman_schemas::{execution::Marker, generate::ChatMessage};
use minijinja::{Environment, context};
use ruff_python_ast::{ModModule, Stmt};
use ruff_text_size::Ranged;

use crate::{insert::Site, proof::is_future_import, sites::bodies, steps::calls_anything};

/// Longest answer, tokens: six short lines.
pub const ANSWER_TOKENS: u32 = 96;

/// Places that one marker may have in an answer.
const SITES_PER_MARKER: usize = 4;

/// Why an answer is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// No line of it names a step and a number.
    #[error("answer names no step")]
    Empty,
    /// A line number is not of this program, or no single statement that could be that step ends there.
    #[error("answer puts `{}` after line {line}, where no such statement ends", marker.as_str())]
    BadLine {
        /// The step.
        marker: Marker,
        /// The line, from 1.
        line: usize,
    },
    /// One step at too many places.
    #[error("answer has `{}` more than {SITES_PER_MARKER} times", .0.as_str())]
    TooMany(Marker),
}

/// The question about `program`: its lines with their numbers, and the steps.
pub fn question(program: &str) -> Result<Vec<ChatMessage>, minijinja::Error> {
    let numbered: Vec<String> = lines(program)
        .iter()
        .enumerate()
        .map(|(index, line)| format!("{:>3} {}", index + 1, &program[line.clone()]))
        .collect();
    let content = Environment::new().render_str(
        include_str!("../prompts/question.md.j2"),
        context! { program => numbered.join("\n") },
    )?;
    Ok(vec![
        ChatMessage {
            role: "system".to_owned(),
            content: include_str!("../prompts/system.md").trim().to_owned(),
        },
        ChatMessage {
            role: "user".to_owned(),
            content,
        },
    ])
}

/// The sites that `answer` names in `program`, whose tree is `module`.
pub fn sites(answer: &str, program: &str, module: &ModModule) -> Result<Vec<Site>, AnswerError> {
    let lines = lines(program);
    let mut sites: Vec<Site> = Vec::new();
    for (marker, line) in answer.lines().filter_map(read_line) {
        let bad_line = AnswerError::BadLine { marker, line };
        let Some(range) = line.checked_sub(1).and_then(|index| lines.get(index)) else {
            return Err(bad_line);
        };
        let Some((statement, depth)) = statement_ending_in(&module.body, range, 0) else {
            return Err(bad_line);
        };
        if !could_be(marker, statement) {
            return Err(bad_line);
        }
        sites.push(Site {
            marker,
            statement: statement.range(),
            depth,
        });
        if sites.iter().filter(|site| site.marker == marker).count() > SITES_PER_MARKER {
            return Err(AnswerError::TooMany(marker));
        }
    }
    if sites.is_empty() {
        Err(AnswerError::Empty)
    } else {
        Ok(sites)
    }
}

/// `loaded_data: 12`, with whatever list signs, quotes and words a model puts around it.
fn read_line(line: &str) -> Option<(Marker, usize)> {
    let (key, value) = line.split_once([':', '='])?;
    let key: String = key
        .chars()
        .filter(|c| c.is_ascii_alphabetic() || *c == '_')
        .collect();
    let marker = Marker::ALL.into_iter().find(|marker| marker.as_str() == key)?;
    let digits: String = value
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    Some((marker, digits.parse().ok()?))
}

/// Byte ranges of the lines of `text`, line endings apart.
fn lines(text: &str) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let rest = &text[start..];
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        lines.push(start..start + length);
        start += length + if rest[length..].starts_with("\r\n") { 2 } else { 1 };
    }
    lines
}

/// The last and innermost statement that ends in `line`.
fn statement_ending_in<'a>(body: &'a [Stmt], line: &Range<usize>, depth: usize) -> Option<(&'a Stmt, usize)> {
    let mut found = None;
    for statement in body {
        let end = statement.end().to_usize();
        if line.start < end && end <= line.end {
            found = Some((statement, depth));
        }
        bodies(statement, |inner| {
            found = statement_ending_in(inner, line, depth + 1).or(found)
        });
    }
    found
}

/// Whether `statement` can have been step `marker`, and something can follow it: an import, or a statement that calls
/// something.
fn could_be(marker: Marker, statement: &Stmt) -> bool {
    if marker == Marker::Imported {
        return matches!(statement, Stmt::Import(_) | Stmt::ImportFrom(_)) && !is_future_import(statement);
    }
    match statement {
        Stmt::Expr(statement) => calls_anything(&statement.value),
        Stmt::Assign(assign) => calls_anything(&assign.value),
        Stmt::AugAssign(assign) => calls_anything(&assign.value),
        Stmt::AnnAssign(assign) => assign.value.as_deref().is_some_and(calls_anything),
        _ => false,
    }
}
