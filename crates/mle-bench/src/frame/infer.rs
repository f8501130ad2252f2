//! The type of a column, as pandas infers it: integers, else floats, else booleans, else objects.

use super::{Column, Objects, Value};

/// Words that mean a missing value.
const MISSING: [&str; 18] = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
    "NA", "NULL", "NaN", "None", "n/a", "nan",
];
/// Longest of them, in bytes.
const MISSING_LEN: usize = 8;

/// Infers the type of the words of a column and reads them.
pub(crate) fn column<'a>(words: impl Iterator<Item = &'a str> + Clone) -> Column {
    match integers(words.clone()) {
        Integers::All(column) => return column,
        Integers::TooLarge => return objects(words),
        Integers::Conflict => return texts(words),
        Integers::Other => {}
    }
    floats(words.clone())
        .or_else(|| booleans(words.clone()))
        .unwrap_or_else(|| objects(words))
}

enum Integers {
    All(Column),
    /// An integer that neither int64 nor uint64 holds.
    TooLarge,
    /// Integers above int64 beside negative or missing ones: all stay texts, missing ones too.
    Conflict,
    /// Something that is no integer, or a missing value.
    Other,
}

fn integers<'a>(words: impl Iterator<Item = &'a str> + Clone) -> Integers {
    let mut values = Vec::with_capacity(words.size_hint().0);
    let mut has_missing = false;
    for word in words.clone() {
        if let Some(value) = short_integer(word.as_bytes()) {
            values.push(value);
            continue;
        }
        match integer(word) {
            Parsed::Value(value) => match i64::try_from(value) {
                Ok(value) => values.push(value),
                Err(_) => return unsigned(words),
            },
            Parsed::TooLarge => return unsigned(words),
            Parsed::No if is_missing(word) => has_missing = true,
            Parsed::No => return Integers::Other,
        }
    }
    if has_missing {
        Integers::Other
    } else {
        Integers::All(Column::Integers(values))
    }
}

fn unsigned<'a>(words: impl Iterator<Item = &'a str>) -> Integers {
    let mut values = Vec::with_capacity(words.size_hint().0);
    let (mut has_large, mut has_other) = (false, false);
    for word in words {
        if is_missing(word) || word.trim_start_matches(is_space).starts_with('-') {
            has_other = true;
            continue;
        }
        match integer(word) {
            Parsed::Value(value) => match u64::try_from(value) {
                Ok(value) => {
                    has_large |= i64::try_from(value).is_err();
                    values.push(value);
                }
                Err(_) => return Integers::TooLarge,
            },
            Parsed::TooLarge => return Integers::TooLarge,
            Parsed::No => return Integers::Other,
        }
    }
    match (has_large, has_other) {
        (true, true) => Integers::Conflict,
        (_, true) => Integers::TooLarge,
        _ => Integers::All(Column::Unsigned(values)),
    }
}

fn floats<'a>(words: impl Iterator<Item = &'a str>) -> Option<Column> {
    let mut values = Vec::with_capacity(words.size_hint().0);
    for word in words {
        let value = match float(word) {
            Some(value) => value,
            None if is_missing(word) => f64::NAN,
            None => return None,
        };
        values.push(value);
    }
    Some(Column::Floats(values))
}

/// Booleans, as objects if some are missing.
fn booleans<'a>(words: impl Iterator<Item = &'a str> + Clone) -> Option<Column> {
    let parse = |word: &str| {
        if word.eq_ignore_ascii_case("true") {
            Some(true)
        } else if word.eq_ignore_ascii_case("false") {
            Some(false)
        } else {
            None
        }
    };
    let mut has_missing = false;
    for word in words.clone() {
        if is_missing(word) {
            has_missing = true;
        } else {
            parse(word)?;
        }
    }
    if !has_missing {
        return Some(Column::Booleans(words.filter_map(parse).collect()));
    }
    let mut objects = Objects::default();
    for word in words {
        objects.push(parse(word).map_or(Value::Missing, Value::Boolean));
    }
    Some(Column::Objects(objects))
}

fn objects<'a>(words: impl Iterator<Item = &'a str>) -> Column {
    let mut objects = Objects::default();
    for word in words {
        objects.push(if is_missing(word) {
            Value::Missing
        } else {
            Value::Text(word)
        });
    }
    Column::Objects(objects)
}

fn texts<'a>(words: impl Iterator<Item = &'a str>) -> Column {
    let mut objects = Objects::default();
    for word in words {
        objects.push(Value::Text(word));
    }
    Column::Objects(objects)
}

fn is_missing(word: &str) -> bool {
    word.len() <= MISSING_LEN && (MISSING.contains(&word) || word == "null")
}

/// Without the white space around it; most words have none.
fn trimmed(word: &str) -> &str {
    match word.as_bytes() {
        [b'!'..=b'~', .., b'!'..=b'~'] | [b'!'..=b'~'] => word,
        _ => word.trim_matches(is_space),
    }
}

/// What `isspace` of C calls white space.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

/// Digits alone, so few that they are an int64: the most frequent form.
#[inline]
fn short_integer(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(value)
}

enum Parsed {
    Value(i128),
    /// It starts with more digits than fit.
    TooLarge,
    No,
}

fn integer(word: &str) -> Parsed {
    let word = trimmed(word).as_bytes();
    let (negative, digits) = match word {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return Parsed::No;
    }
    let limit = if negative { 1 << 63 } else { u64::MAX };
    let mut value = 0u64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return Parsed::No;
        }
        // Too large is too large, whatever follows: pandas doesn't look at it.
        match value
            .checked_mul(10)
            .and_then(|value| value.checked_add(u64::from(digit - b'0')))
            .filter(|value| *value <= limit)
        {
            Some(more) => value = more,
            None => return Parsed::TooLarge,
        }
    }
    let value = i128::from(value);
    Parsed::Value(if negative { -value } else { value })
}

/// A decimal number or an infinity. A number too large for a float is none, as for pandas.
fn float(word: &str) -> Option<f64> {
    let word = trimmed(word);
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    if matches!(unsigned.as_bytes(), [b'0'..=b'9' | b'.', ..]) {
        word.parse().ok().filter(|value: &f64| value.is_finite())
    } else if unsigned.eq_ignore_ascii_case("inf") || unsigned.eq_ignore_ascii_case("infinity") {
        Some(if word.starts_with('-') {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        })
    } else {
        None
    }
}
