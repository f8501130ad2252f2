//! Which bytes does each token stand for?

use std::collections::HashMap;

/// The bytes of all tokens, end to end.
pub(super) struct TokenBytes {
    bytes: Vec<u8>,
    /// Where each token ends; it begins where the one before it ends.
    ends: Vec<usize>,
}

impl TokenBytes {
    /// From the vocabulary's spelling. Byte-level tokens spell each byte as one character, the
    /// others are what they say.
    ///
    /// # Errors
    /// A byte-level token has a character that stands for no byte.
    pub(super) fn new(tokens: &[String], is_byte_level: impl Fn(usize) -> bool) -> Result<Self, String> {
        let byte_of = byte_of_character();
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(tokens.len());
        for (id, token) in tokens.iter().enumerate() {
            if is_byte_level(id) {
                for character in token.chars() {
                    bytes.push(*byte_of.get(&character).ok_or_else(|| {
                        format!(
                            "token {id} is `{token}`, whose character `{}` stands for no byte",
                            character.escape_debug()
                        )
                    })?);
                }
            } else {
                bytes.extend_from_slice(token.as_bytes());
            }
            ends.push(bytes.len());
        }
        Ok(Self { bytes, ends })
    }

    pub(super) fn get(&self, id: usize) -> &[u8] {
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        &self.bytes[start..self.ends[id]]
    }
}

/// GPT-2's spelling of bytes: printable Latin-1 as itself, the others from U+0100 on.
fn byte_of_character() -> HashMap<char, u8> {
    let mut next_other = 0x100;
    (0..=255u8)
        .map(|byte| match byte {
            b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF => (char::from(byte), byte),
            _ => {
                // There are 68 such bytes, and U+0100 to U+0143 are characters.
                let character = char::from_u32(next_other).unwrap_or(char::REPLACEMENT_CHARACTER);
                next_other += 1;
                (character, byte)
            }
        })
        .collect()
}
