//! What is kept of a program's output: the head, the tail, and the marker lines between.

use std::collections::VecDeque;

/// Longest line that can be a marker line, bytes.
const LINE_BYTES: usize = 256;
/// Most marker lines kept from the part left out.
const KEPT_LINES: usize = 64;

/// Collects output within a fixed size, however much comes.
pub(super) struct Capture {
    head: Vec<u8>,
    head_bytes: usize,
    tail: VecDeque<u8>,
    tail_bytes: usize,
    total: u64,
    markers: Option<Markers>,
}

impl Capture {
    /// Keeps `limit` bytes, half from the head and half from the tail. Lines that start with `keep` are kept beyond
    /// that, each once.
    pub(super) fn new(limit: u64, keep: Option<&str>) -> Capture {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Capture {
            head: Vec::new(),
            head_bytes: limit - limit / 2,
            tail: VecDeque::new(),
            tail_bytes: limit / 2,
            total: 0,
            markers: keep.map(Markers::new),
        }
    }

    /// Takes the next bytes.
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        if let Some(markers) = &mut self.markers {
            markers.scan(self.total, bytes);
        }
        self.total += bytes.len() as u64;
        let room = (self.head_bytes - self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        bytes = &bytes[room..];
        if bytes.len() >= self.tail_bytes {
            self.tail.clear();
            bytes = &bytes[bytes.len() - self.tail_bytes..];
        }
        let excess = (self.tail.len() + bytes.len()).saturating_sub(self.tail_bytes);
        self.tail.drain(..excess);
        self.tail.extend(bytes);
    }

    /// Bytes that came, kept or not.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// What was kept. A line in square brackets stands for what was left out.
    pub(super) fn finish(mut self) -> Vec<u8> {
        let mut output = self.head;
        let kept = (output.len() + self.tail.len()) as u64;
        if self.total > kept {
            let (from, to) = (output.len() as u64, self.total - self.tail.len() as u64);
            output.extend(format!("\n[{} bytes left out]\n", self.total - kept).into_bytes());
            if let Some(markers) = &mut self.markers {
                markers.end_line();
                for (start, line) in &markers.found {
                    if start + line.len() as u64 > from && *start < to {
                        output.extend_from_slice(line);
                        output.push(b'\n');
                    }
                }
            }
        }
        output.extend(self.tail);
        output
    }
}

/// Finds lines with a prefix in a stream.
struct Markers {
    prefix: Vec<u8>,
    line: Vec<u8>,
    line_start: u64,
    found: Vec<(u64, Vec<u8>)>,
}

impl Markers {
    fn new(prefix: &str) -> Markers {
        Markers {
            prefix: prefix.into(),
            line: Vec::new(),
            line_start: 0,
            found: Vec::new(),
        }
    }

    fn scan(&mut self, start: u64, bytes: &[u8]) {
        let mut offset = start;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = (LINE_BYTES - self.line.len()).min(piece.len());
            self.line.extend_from_slice(&piece[..room]);
            offset += piece.len() as u64;
            if piece.ends_with(b"\n") {
                self.end_line();
                self.line_start = offset;
            }
        }
    }

    fn end_line(&mut self) {
        let line = self.line.trim_ascii_end();
        let wanted = line.starts_with(&self.prefix) && self.line.len() < LINE_BYTES;
        if wanted && self.found.len() < KEPT_LINES && !self.found.iter().any(|(_, known)| known == line) {
            self.found.push((self.line_start, line.to_vec()));
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests;
