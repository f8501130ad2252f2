//! Takes the program out of a completion. Nothing in it is repaired.

#[cfg(test)]
mod tests;

/// The program in `text`; none when there is no code in it.
///
/// Fenced blocks come first: of those that look like a whole program the last closed one, else the last one, else the
/// longest block. A fence that is never closed runs to the end. Without a block that holds code, what follows the
/// first import outside of blocks is the program.
pub fn program(text: &str) -> Option<String> {
    let split = split(text);
    let blocks: Vec<&Block> = split.blocks.iter().filter(|block| block.is_python()).collect();
    let whole = || blocks.iter().rev().filter(|block| looks_whole(&block.code));
    let chosen = whole().find(|block| block.closed).or_else(|| whole().next());
    let chosen = chosen.or_else(|| blocks.iter().rev().max_by_key(|block| block.code.trim().len()));
    chosen
        .map(|block| block.code.clone())
        .or_else(|| split.outside.iter().find_map(|part| from_first_import(part)))
}

/// A completion cut at its fences.
struct Split<'t> {
    blocks: Vec<Block>,
    /// The text around the blocks.
    outside: Vec<&'t str>,
}

/// A fenced block.
struct Block {
    language: String,
    code: String,
    closed: bool,
}

impl Block {
    fn is_python(&self) -> bool {
        match self.language.as_str() {
            "python" | "py" | "python3" | "py3" | "ipython" => !self.code.trim().is_empty(),
            "" => looks_like_code(&self.code),
            _ => false,
        }
    }
}

/// An opening fence.
struct Fence {
    /// Where its line begins, or where the fence does when text stands before it.
    start: usize,
    /// Where the block's first line begins.
    inside: usize,
    sign: u8,
    length: usize,
    /// White space before the fence, which the block's lines may have too.
    indent: usize,
    language: String,
}

fn split(text: &str) -> Split<'_> {
    let mut split = Split {
        blocks: Vec::new(),
        outside: Vec::new(),
    };
    let mut from = 0;
    while let Some(fence) = next_fence(text, from) {
        split.outside.push(&text[from..fence.start]);
        let body = &text[fence.inside..];
        let close = closing_fence(body, &fence);
        let (end, next) = close.unwrap_or((body.len(), body.len()));
        split.blocks.push(Block {
            code: without_indent(&body[..end], fence.indent),
            language: fence.language,
            closed: close.is_some(),
        });
        from = fence.inside + next;
    }
    split.outside.push(&text[from..]);
    split
}

/// The next line at or after `from` that opens a block: a fence at its start, or a fence with a language at its end.
fn next_fence(text: &str, from: usize) -> Option<Fence> {
    let mut start = from;
    for line in text[from..].split_inclusive('\n') {
        let inside = start + line.len();
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        if let Some((sign, length)) = fence_at(bare.as_bytes()) {
            let info = bare[length..].trim();
            if !(sign == b'`' && info.contains('`')) {
                let language = info
                    .split([' ', '{', ','])
                    .next()
                    .unwrap_or_default()
                    .to_ascii_lowercase();
                return Some(Fence {
                    start,
                    inside,
                    sign,
                    length,
                    indent,
                    language,
                });
            }
        } else if let Some((before, language)) = line.trim_end().rsplit_once("```")
            && matches!(language, "python" | "py" | "python3")
            && !before.contains("```")
        {
            let start = start + before.len();
            return Some(Fence {
                start,
                inside,
                sign: b'`',
                length: 3,
                indent: 0,
                language: language.to_owned(),
            });
        }
        start = inside;
    }
    None
}

/// Three or more of one fence sign.
fn fence_at(bytes: &[u8]) -> Option<(u8, usize)> {
    let sign = *bytes.first().filter(|sign| matches!(sign, b'`' | b'~'))?;
    let length = bytes.iter().take_while(|byte| **byte == sign).count();
    (length >= 3).then_some((sign, length))
}

/// Where the block in `body` ends, and where the text goes on. A fence inside a Python string is none, unless there is
/// no other.
fn closing_fence(body: &str, fence: &Fence) -> Option<(usize, usize)> {
    let mut state = State::Code;
    let mut inside_string = None;
    let mut start = 0;
    for line in body.split_inclusive('\n') {
        let bare = line.trim_start();
        let found = fence_at(bare.as_bytes())
            .filter(|(sign, length)| *sign == fence.sign && *length >= fence.length)
            .filter(|(_, length)| bare[*length..].trim().is_empty());
        let next = start + line.len();
        if found.is_some() {
            if state == State::Code {
                return Some((start, next));
            }
            inside_string.get_or_insert((start, next));
        } else if fence.sign == b'`'
            && state == State::Code
            && !bare.starts_with('`')
            && let Some(at) = glued_fence(line, fence.length)
        {
            return Some((start + at, next));
        }
        state = state.after(line);
        start = next;
    }
    inside_string
}

/// A fence at the end of a line of code, outside of strings and comments.
fn glued_fence(line: &str, length: usize) -> Option<usize> {
    let code = line.trim_end();
    let before = code.trim_end_matches('`');
    let state = State::Code.within(before);
    (code.len() - before.len() >= length && state == Inside::Code).then_some(before.len())
}

/// Whether a line of Python begins inside a string over several lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Code,
    Triple(u8),
}

/// Where a point within a line is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Code,
    Comment,
    Single(u8),
    Triple(u8),
}

impl State {
    /// At the line after `line`.
    fn after(self, line: &str) -> State {
        match self.within(line) {
            Inside::Triple(quote) => State::Triple(quote),
            _ => State::Code,
        }
    }

    /// At the end of `text`, which has no line break but at its end.
    fn within(self, text: &str) -> Inside {
        let bytes = text.as_bytes();
        let mut inside = match self {
            State::Code => Inside::Code,
            State::Triple(quote) => Inside::Triple(quote),
        };
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            let triple = bytes[at..].starts_with(&[byte; 3]);
            let mut step = 1;
            match inside {
                Inside::Comment => return inside,
                Inside::Single(_) | Inside::Triple(_) if byte == b'\\' => step = 2,
                Inside::Code if byte == b'#' => inside = Inside::Comment,
                Inside::Code if matches!(byte, b'"' | b'\'') && triple => {
                    inside = Inside::Triple(byte);
                    step = 3;
                }
                Inside::Code if matches!(byte, b'"' | b'\'') => inside = Inside::Single(byte),
                Inside::Single(quote) if byte == quote => inside = Inside::Code,
                Inside::Triple(quote) if byte == quote && triple => {
                    inside = Inside::Code;
                    step = 3;
                }
                _ => {}
            }
            at += step;
        }
        inside
    }
}

/// Takes up to `indent` white-space characters off each line, as the fence had them.
fn without_indent(code: &str, indent: usize) -> String {
    code.split_inclusive('\n')
        .map(|line| {
            let spaces = line
                .bytes()
                .take(indent)
                .take_while(|byte| matches!(byte, b' ' | b'\t'))
                .count();
            &line[spaces..]
        })
        .collect()
}

/// Imports something and writes the submission.
fn looks_whole(code: &str) -> bool {
    code.lines().any(is_import) && (code.contains("to_csv") || code.contains("submission.csv"))
}

/// Has a line that prose would not have.
fn looks_like_code(code: &str) -> bool {
    let is_assignment = |line: &str| {
        line.split_once('=').is_some_and(|(left, _)| {
            let left = left.trim();
            left.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && left
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "_.[]\"', ".contains(c))
        })
    };
    code.lines().any(|line| {
        is_import(line) || is_assignment(line) || line.starts_with("def ") || line.starts_with("class ")
    })
}

fn is_import(line: &str) -> bool {
    let mut words = line.split_whitespace();
    match words.next() {
        Some("import") => words.next().is_some_and(is_module),
        Some("from") => words.next().is_some_and(is_module) && words.next() == Some("import"),
        _ => false,
    }
}

fn is_module(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ',' | ';'))
}

/// From the first line that is an import to the end.
fn from_first_import(text: &str) -> Option<String> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        // An import in prose ("import duties are ...") has more words than one in code.
        let words = line.split_whitespace().count();
        if line.trim_start().len() == line.len()
            && is_import(line)
            && (words <= 4 || line.starts_with("from "))
        {
            return Some(text[start..].to_owned());
        }
        start += line.len();
    }
    None
}
