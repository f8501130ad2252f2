//! Puts marker prints into a program's text and leaves every other byte alone.

use journeyman_schemas::execution::{Marker, Nonce};
use ruff_python_ast::token::{Token, TokenKind, Tokens};
use ruff_text_size::{Ranged, TextRange, TextSize};

/// One marker after one statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Which step the statement is.
    pub marker: Marker,
    /// The statement.
    pub statement: TextRange,
    /// How many bodies the statement lies in.
    pub depth: usize,
}

/// `source` with a print after the statement of each site.
///
/// A statement that has its line to itself gets the print on a line of its own after it, with the same indentation;
/// one that shares its line (`a; b`, `if x: y`) gets it on the same line after a `;`.
pub fn insert(source: &str, tokens: &Tokens, sites: &[Site], nonce: &Nonce) -> String {
    let mut insertions: Vec<Insertion> = sites
        .iter()
        .map(|site| Insertion::of(source, tokens, site, nonce))
        .collect();
    // At one place the print of the inner statement comes first, then the markers in the order in which they count.
    insertions.sort_by_key(|insertion| {
        (
            insertion.offset,
            std::cmp::Reverse(insertion.depth),
            insertion.marker,
        )
    });
    insertions.dedup_by(|a, b| (a.offset, a.depth, a.marker) == (b.offset, b.depth, b.marker));

    let mut text = String::with_capacity(source.len() + insertions.len() * 80);
    let mut done = 0;
    for insertion in &insertions {
        text.push_str(&source[done..insertion.offset]);
        text.push_str(&insertion.text);
        done = insertion.offset;
    }
    text.push_str(&source[done..]);
    text
}

/// The statement that is put in: `print("<nonce> <word>", flush=True)`.
pub fn statement(marker: Marker, nonce: &Nonce) -> String {
    format!("print(\"{}\", flush=True)", marker.line(nonce))
}

struct Insertion {
    offset: usize,
    depth: usize,
    marker: Marker,
    text: String,
}

impl Insertion {
    fn of(source: &str, tokens: &Tokens, site: &Site, nonce: &Nonce) -> Self {
        let print = statement(site.marker, nonce);
        let (offset, text) = match own_line(source, tokens, site.statement) {
            Some(OwnLine { indent, newline }) if newline.is_empty() => {
                (newline.end(), format!("{}{indent}{print}", line_ending(source)))
            }
            Some(OwnLine { indent, newline }) => {
                (newline.end(), format!("{indent}{print}{}", &source[newline]))
            }
            None => (site.statement.end(), format!("; {print}")),
        };
        Self {
            offset: offset.to_usize(),
            depth: site.depth,
            marker: site.marker,
            text,
        }
    }
}

/// Where a statement has its line, or lines, to itself.
struct OwnLine<'a> {
    /// White space before the statement.
    indent: &'a str,
    /// The end of its last line; empty at the end of a program without one.
    newline: TextRange,
}

fn own_line<'a>(source: &'a str, tokens: &Tokens, statement: TextRange) -> Option<OwnLine<'a>> {
    let start = statement.start().to_usize();
    let line = source[..start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let indent = &source[line..start];
    if !indent.chars().all(|c| matches!(c, ' ' | '\t' | '\x0c')) {
        return None;
    }
    let newline = following(tokens, statement.end()).find(|token| token.kind() != TokenKind::Comment)?;
    (newline.kind() == TokenKind::Newline).then(|| OwnLine {
        indent,
        newline: newline.range(),
    })
}

fn following(tokens: &Tokens, offset: TextSize) -> impl Iterator<Item = &Token> {
    let first = tokens.partition_point(|token| token.start() < offset);
    tokens[first..].iter()
}

/// How the program's first line ends.
fn line_ending(source: &str) -> &'static str {
    match source.find(['\n', '\r']) {
        Some(at) if source[at..].starts_with("\r\n") => "\r\n",
        Some(at) if source[at..].starts_with('\r') => "\r",
        _ => "\n",
    }
}
