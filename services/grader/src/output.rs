//! What a program printed: the progress markers in it, and the rest.

use journeyman_schemas::execution::{Marker, Nonce};

/// Number of markers that count: lines that are exactly a marker's, of the markers that were put in, each once and
/// none after a later one.
pub(crate) fn count_markers(output: &[u8], nonce: &Nonce, markers: &[Marker]) -> u32 {
    let lines: Vec<String> = markers.iter().map(|marker| marker.line(nonce)).collect();
    let (mut next, mut count) = (0, 0);
    for line in output.split(|&byte| byte == b'\n') {
        if let Some(place) = lines[next..].iter().position(|marker| marker.as_bytes() == line) {
            next += place + 1;
            count += 1;
        }
    }
    count
}

/// The output without its markers, at most about `limit` bytes: half from the head, half from the tail.
pub(crate) fn without_markers(output: &[u8], nonce: &Nonce, limit: usize) -> String {
    let text = String::from_utf8_lossy(output);
    let mut kept = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line.find(&nonce.0) {
            None => kept.push_str(line),
            // A marker behind text without a line break: the text stays.
            Some(0) => {}
            Some(place) => {
                kept.push_str(&line[..place]);
                kept.push('\n');
            }
        }
    }
    shorten(&kept, limit)
}

fn shorten(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(limit / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - limit / 2)..];
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[… {left_out} bytes left out …]\n{tail}")
}

#[cfg(test)]
mod tests;
