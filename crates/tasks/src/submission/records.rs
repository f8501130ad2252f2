//! Splits CSV text into records and fields, without a copy.
//!
//! As RFC 4180 with what files in the wild have: lines end in LF, CRLF or CR; blank lines are left out; a field that
//! starts with a quote ends at the next quote that is not doubled, and anywhere else a quote is a character like others;
//! blanks around a field don't count.

use std::borrow::Cow;

/// Longest text, bytes: places are kept in 31 bits.
pub(super) const LONGEST: usize = (1 << 31) - 1;

/// Marks a field that was written in quotes.
const QUOTED: u32 = 1 << 31;

/// Where a field lies in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    start: u32,
    /// Length in bytes, quotes included, and the mark [`QUOTED`].
    length: u32,
}

impl Field {
    /// No text.
    pub(super) const EMPTY: Self = Self { start: 0, length: 0 };

    /// The bytes as they stand, blanks included; none if it was written in quotes.
    pub(super) fn plain(self, text: &str) -> Option<&[u8]> {
        let start = self.start as usize;
        (self.length & QUOTED == 0).then(|| &text.as_bytes()[start..start + self.length as usize])
    }

    /// What is written in it, without quotes and blanks around.
    pub(super) fn text(self, text: &str) -> Cow<'_, str> {
        let start = self.start as usize;
        let raw = &text[start..start + (self.length & !QUOTED) as usize];
        if self.length & QUOTED == 0 {
            return Cow::Borrowed(trim(raw));
        }
        match raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')) {
            Some(inner) if !inner.contains('"') => Cow::Borrowed(trim(inner)),
            _ => Cow::Owned(trim(&unquoted(raw)).to_owned()),
        }
    }
}

/// A quote was opened and never closed; where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unclosed(pub(super) usize);

/// A record: a line, or several where quotes hold line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Where it starts.
    pub(super) start: usize,
    /// How many fields it has.
    pub(super) fields: usize,
}

/// A place in a text of at most [`LONGEST`] bytes.
#[derive(Clone, Debug)]
pub(super) struct Records<'a> {
    text: &'a [u8],
    at: usize,
    /// Fields of one record that are kept; what comes after is only counted.
    most: usize,
}

impl<'a> Records<'a> {
    pub(super) fn new(text: &'a str, most: usize) -> Self {
        Self {
            text: text.as_bytes(),
            at: 0,
            most,
        }
    }

    /// Puts the fields of the next record into `fields`, in place of those there; none at the end of the text.
    pub(super) fn next(&mut self, fields: &mut Vec<Field>) -> Result<Option<Record>, Unclosed> {
        fields.clear();
        while let Some(b'\n' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
        if self.at == self.text.len() {
            return Ok(None);
        }
        let start = self.at;
        let mut count = 0;
        loop {
            let field = self.field()?;
            count += 1;
            if fields.len() < self.most {
                fields.push(field);
            }
            // A field ends before a comma, before the end of a line, or at the end of the text.
            match self.text.get(self.at) {
                Some(b',') => self.at += 1,
                _ => return Ok(Some(Record { start, fields: count })),
            }
        }
    }

    fn field(&mut self) -> Result<Field, Unclosed> {
        let start = self.at;
        let mark = if self.text.get(start) == Some(&b'"') {
            self.skip_quoted().ok_or(Unclosed(start))?;
            QUOTED
        } else {
            0
        };
        self.at += before_separator(&self.text[self.at..]);
        // Both fit: the text has at most LONGEST bytes.
        Ok(Field {
            start: start as u32,
            length: (self.at - start) as u32 | mark,
        })
    }

    /// Goes behind the closing quote; none if there is none.
    fn skip_quoted(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            self.at += memchr::memchr(b'"', &self.text[self.at..])? + 1;
            if self.text.get(self.at) != Some(&b'"') {
                return Some(());
            }
            self.at += 1;
        }
    }
}

/// Bytes before the first comma or end of a line: eight at a time, since fields are short.
fn before_separator(text: &[u8]) -> usize {
    let (words, rest) = text.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = zeros(word ^ every(b',')) | zeros(word ^ every(b'\n')) | zeros(word ^ every(b'\r'));
        if found != 0 {
            return 8 * index + found.trailing_zeros() as usize / 8;
        }
    }
    let end = rest.iter().position(|byte| matches!(byte, b',' | b'\n' | b'\r'));
    8 * words.len() + end.unwrap_or(rest.len())
}

/// A word of eight times `byte`.
const fn every(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The top bit of the lowest byte that is 0 is set, and no bit below it (Hacker's Delight, 6-1).
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(every(1)) & !word & every(0x80)
}

/// The line, from 1, on which byte `at` of `text` lies.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    let before = &text.as_bytes()[..at];
    let feeds = before.iter().filter(|&&byte| byte == b'\n').count();
    let lone_returns = before
        .iter()
        .zip(text.as_bytes()[1..].iter())
        .filter(|&(&byte, &next)| byte == b'\r' && next != b'\n')
        .count();
    feeds + lone_returns + 1
}

/// The content of a field that starts with a quote: what follows the closing quote belongs to it too.
fn unquoted(raw: &str) -> String {
    let mut content = String::with_capacity(raw.len());
    let mut inside = false;
    let mut characters = raw.chars().peekable();
    let mut closed = false;
    while let Some(character) = characters.next() {
        if closed || character != '"' {
            content.push(character);
        } else if !inside {
            inside = true;
        } else if characters.peek() == Some(&'"') {
            characters.next();
            content.push('"');
        } else {
            closed = true;
        }
    }
    content
}

fn trim(text: &str) -> &str {
    let plain = |byte: Option<&u8>| byte.is_none_or(|byte| (b'!'..=b'~').contains(byte));
    let bytes = text.as_bytes();
    if plain(bytes.first()) && plain(bytes.last()) {
        return text;
    }
    text.trim()
}

#[cfg(test)]
mod tests;
