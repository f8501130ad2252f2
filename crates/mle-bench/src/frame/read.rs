//! Reads CSV as `pandas.read_csv(…, float_precision="round_trip")` of pandas 2.2 does.
//!
//! Blank lines are skipped, short rows padded with NaN, and a first row that is longer than the header turns the first
//! fields of all rows into row labels. Types are inferred from pieces of as many rows as pandas takes at a time, so
//! that a large column of mixed content gets the same mixture of types.

use std::{borrow::Cow, collections::HashMap};

use super::{Column, Frame, infer};

/// Largest file that is read, in bytes.
pub const SIZE_LIMIT: u64 = (1 << 31) - 1;
/// pandas reads about this many fields before it infers types.
const PIECE_FIELDS: usize = 1 << 20;

/// Why a file can't be read as CSV; pandas raises an error for each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// More bytes than [`SIZE_LIMIT`].
    #[error(
        "the file has {size} bytes; at most {SIZE_LIMIT} are read. Write only the columns that are asked for"
    )]
    TooLarge {
        /// Bytes in the file.
        size: u64,
    },
    /// Looks like gzip or zip.
    #[error("the file is compressed; write plain text, for example with compression=None")]
    Compressed,
    /// Not UTF-8.
    #[error("byte {at} is not UTF-8; write the file with encoding=\"utf-8\"")]
    Unicode {
        /// Place of the byte, from 0.
        at: usize,
    },
    /// A row with more fields than the rows before it.
    #[error(
        "line {line} has {fields} fields, but the lines before it have {expected}; write one value per column, and put \
         texts with commas into quotes"
    )]
    Fields {
        /// Line of the file, from 1.
        line: usize,
        /// Fields on that line.
        fields: usize,
        /// Fields before.
        expected: usize,
    },
    /// A quote without its partner.
    #[error(
        "the quote `\"` that opens on line {line} is never closed; write quotes inside quoted texts twice"
    )]
    OpenQuote {
        /// Line of the file, from 1.
        line: usize,
    },
}

/// Reads a whole file. Without a single line, the frame has no columns.
pub fn read(bytes: &[u8]) -> Result<Frame, ReadError> {
    if bytes.len() as u64 > SIZE_LIMIT {
        return Err(ReadError::TooLarge {
            size: bytes.len() as u64,
        });
    }
    if bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(b"PK\x03\x04") {
        return Err(ReadError::Compressed);
    }
    let text = std::str::from_utf8(bytes).map_err(|error| ReadError::Unicode {
        at: error.valid_up_to(),
    })?;
    let mut rows = Rows::new(text.strip_prefix('\u{feff}').unwrap_or(text));
    let mut fields = Vec::new();
    if !rows.next(&mut fields)? {
        return Ok(Frame::default());
    }
    let names = distinct_names(fields.iter().map(|field| rows.text(*field).to_string()).collect());
    Body::read(rows, names.len()).map(|body| body.frame(names))
}

/// Place of a field: bytes of the input, or of [`Rows::unescaped`] if `start` has the bit [`UNESCAPED`].
#[derive(Clone, Copy)]
struct Field {
    start: u32,
    len: u32,
}

/// Free in an offset, since files are below 2 GiB.
const UNESCAPED: u32 = 1 << 31;
const EMPTY: Field = Field { start: 0, len: 0 };

/// Splits text into rows of fields.
struct Rows<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    /// Fields that had doubled quotes or text after a closing quote.
    unescaped: String,
    has_nul: bool,
}

impl<'a> Rows<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
            unescaped: String::new(),
            has_nul: text.as_bytes().contains(&0),
        }
    }

    /// The text of a field; it ends at a NUL, as a string of C does.
    #[inline]
    fn text(&self, field: Field) -> &str {
        let source = if field.start & UNESCAPED == 0 {
            self.text
        } else {
            self.unescaped.as_str()
        };
        let start = (field.start & !UNESCAPED) as usize;
        let text = &source[start..start + field.len as usize];
        if self.has_nul {
            text.split('\0').next().unwrap_or_default()
        } else {
            text
        }
    }

    /// Appends the fields of the next row that is not blank; false at the end.
    fn next(&mut self, fields: &mut Vec<Field>) -> Result<bool, ReadError> {
        if !self.skip_blank_lines() {
            return Ok(false);
        }
        let bytes = self.text.as_bytes();
        loop {
            let field = if bytes.get(self.at) == Some(&b'"') {
                self.quoted()?
            } else {
                let start = self.at;
                self.skip_field();
                self.span(start)
            };
            fields.push(field);
            match bytes.get(self.at) {
                Some(b',') => self.at += 1,
                _ => {
                    self.skip_line_end();
                    return Ok(true);
                }
            }
        }
    }

    /// Goes to the next line with more than blanks and tabs on it; false if there is none.
    fn skip_blank_lines(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        loop {
            let mut at = self.at;
            while matches!(bytes.get(at), Some(b' ' | b'\t')) {
                at += 1;
            }
            match bytes.get(at) {
                None => return false,
                Some(b'\n' | b'\r') => {
                    self.at = at;
                    self.skip_line_end();
                }
                Some(_) => return true,
            }
        }
    }

    fn skip_line_end(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += if rest.starts_with(b"\r\n") {
            2
        } else {
            usize::from(!rest.is_empty())
        };
        self.line += 1;
    }

    fn skip_field(&mut self) {
        self.at += field_len(&self.text.as_bytes()[self.at..]);
    }

    fn span(&self, start: usize) -> Field {
        // Offsets are below SIZE_LIMIT.
        Field {
            start: start as u32,
            len: (self.at - start) as u32,
        }
    }

    /// A field that starts with a quote.
    fn quoted(&mut self) -> Result<Field, ReadError> {
        let (bytes, opened_on) = (self.text.as_bytes(), self.line);
        let unescaped_start = self.unescaped.len();
        let mut start = self.at + 1;
        loop {
            let Some(len) = bytes[start..].iter().position(|byte| *byte == b'"') else {
                return Err(ReadError::OpenQuote { line: opened_on });
            };
            let close = start + len;
            self.line += bytes[start..close].iter().filter(|byte| **byte == b'\n').count();
            if bytes.get(close + 1) == Some(&b'"') {
                self.unescaped.push_str(&self.text[start..=close]);
                start = close + 2;
                continue;
            }
            self.at = close + 1;
            self.skip_field();
            let rest = &self.text[close + 1..self.at];
            if rest.is_empty() && self.unescaped.len() == unescaped_start {
                return Ok(Field {
                    start: start as u32,
                    len: len as u32,
                });
            }
            self.unescaped.push_str(&self.text[start..close]);
            self.unescaped.push_str(rest);
            return Ok(Field {
                start: unescaped_start as u32 | UNESCAPED,
                len: (self.unescaped.len() - unescaped_start) as u32,
            });
        }
    }
}

/// Bytes before the next comma or end of line, eight at a time.
fn field_len(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (place, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let ends = high_bits(word, b',') | high_bits(word, b'\n') | high_bits(word, b'\r');
        if ends != 0 {
            return place * 8 + ends.trailing_zeros() as usize / 8;
        }
    }
    let is_end = |byte: &u8| matches!(byte, b',' | b'\n' | b'\r');
    bytes.len() - rest.len() + rest.iter().position(is_end).unwrap_or(rest.len())
}

/// The high bit of the lowest byte of `word` that equals `byte`; bits above it mean nothing, 0 means none.
///
/// Source: "Determine if a word has a zero byte", Bit Twiddling Hacks, S. E. Anderson.
fn high_bits(word: u64, byte: u8) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let zero_where_equal = word ^ (ONES * u64::from(byte));
    zero_where_equal.wrapping_sub(ONES) & !zero_where_equal & (ONES << 7)
}

/// What is below the header.
struct Body {
    columns: Vec<Column>,
    rows: usize,
    has_row_labels: bool,
}

impl Body {
    fn read(mut rows: Rows, header_fields: usize) -> Result<Self, ReadError> {
        let mut fields = Vec::new();
        let first = rows.next(&mut fields)?;
        let width = header_fields.max(fields.len());
        fields.resize(if first { width } else { 0 }, EMPTY);
        let labels = width - header_fields;
        let piece_rows = piece_rows(width);

        let mut count = usize::from(first);
        let mut columns: Vec<Option<Column>> = vec![None; header_fields];
        let mut more = first;
        while more {
            while more && fields.len() < piece_rows * width {
                let (start, line) = (fields.len(), rows.line);
                more = rows.next(&mut fields)?;
                if fields.len() - start > width {
                    return Err(ReadError::Fields {
                        line: line.max(rows.line - 1),
                        fields: fields.len() - start,
                        expected: width,
                    });
                }
                if more {
                    fields.resize(start + width, EMPTY);
                    count += 1;
                }
            }
            for (place, column) in columns.iter_mut().enumerate() {
                let words = fields
                    .iter()
                    .skip(labels + place)
                    .step_by(width)
                    .map(|field| rows.text(*field));
                let piece = infer::column(words);
                *column = Some(match column.take() {
                    Some(above) => above.append(piece),
                    None => piece,
                });
            }
            fields.clear();
            rows.unescaped.clear();
        }
        Ok(Self {
            columns: columns
                .into_iter()
                .map(|column| column.unwrap_or_else(|| Column::Objects(Default::default())))
                .collect(),
            rows: count,
            has_row_labels: labels > 0,
        })
    }

    fn frame(self, names: Vec<String>) -> Frame {
        Frame {
            names,
            columns: self.columns,
            rows: self.rows,
            has_row_labels: self.has_row_labels,
        }
    }
}

/// Rows that pandas reads before it infers types: the largest power of two below 2^20 / columns.
fn piece_rows(width: usize) -> usize {
    let limit = PIECE_FIELDS / width;
    let mut rows = 1;
    while rows * 2 < limit {
        rows *= 2;
    }
    rows
}

/// Names as pandas makes them distinct: `a`, `a.1`, `a.2`; an empty one becomes `Unnamed: 0` by its place.
fn distinct_names(header: Vec<String>) -> Vec<String> {
    let names: Vec<Cow<str>> = header
        .iter()
        .enumerate()
        .map(|(place, name)| {
            if name.is_empty() {
                Cow::Owned(format!("Unnamed: {place}"))
            } else {
                Cow::Borrowed(name.as_str())
            }
        })
        .collect();
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut distinct = Vec::with_capacity(names.len());
    for name in &names {
        let mut unique = name.to_string();
        let mut count = seen.get(&unique).copied().unwrap_or(0);
        while count > 0 {
            seen.insert(name.to_string(), count + 1);
            unique = format!("{name}.{count}");
            count = if names.contains(&Cow::Borrowed(unique.as_str())) {
                count + 1
            } else {
                seen.get(&unique).copied().unwrap_or(0)
            };
        }
        seen.insert(unique.clone(), count + 1);
        distinct.push(unique);
    }
    distinct
}
