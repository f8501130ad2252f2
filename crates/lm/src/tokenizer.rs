//! How does text become token ids, and token ids text? Byte-level BPE from a GGUF file.
//!
//! Token kinds, as the file marks them: *control* tokens (`<|im_end|>`) steer the model, and are
//! found in a text only where the caller says so; *user-defined* tokens (`<tool_call>`) are
//! words that the vocabulary was widened by, and are found in any text; *unused* ids pad the
//! vocabulary to a round size, and are never made and never sampled.

use std::ops::Range;
use std::path::PathBuf;

use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::normalizers::NFC;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{NormalizerWrapper, SplitDelimiterBehavior};

use self::bytes::TokenBytes;
use crate::gguf::{Gguf, GgufError};

mod bytes;
#[cfg(test)]
mod tests;

/// Pieces of text that Qwen2's merges never cross. A digit is a piece of its own.
const QWEN2_PIECES: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Control tokens that end a generation, beside the file's own end token.
const END_TOKENS: [&str; 5] = [
    "<|endoftext|>",
    "<|im_end|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
];

/// Converts between text and token ids.
pub struct Tokenizer {
    /// Encodes text that has no added tokens in it.
    bpe: tokenizers::Tokenizer,
    /// Control and user-defined tokens, longest first.
    added: Vec<AddedToken>,
    bytes: TokenBytes,
    kinds: Vec<Kind>,
    sampleable: Vec<bool>,
    end_ids: Vec<u32>,
}

/// Whether control tokens are looked for in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Specials {
    /// `<|im_end|>` is one token: for text of our own making.
    Parse,
    /// `<|im_end|>` is the text `<|im_end|>`: for text from anyone else.
    AsText,
}

/// Why a tokenizer cannot be made, or a text not encoded.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// A key is missing or of another type.
    #[error(transparent)]
    Gguf(#[from] GgufError),
    /// A kind of tokenizer that is not implemented.
    #[error("metadata key `{key}` of `{path}` is `{found}`; known are {known}")]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
        /// The value read.
        found: String,
        /// The values allowed.
        known: &'static str,
    },
    /// The tables of the file contradict each other.
    #[error("the tokenizer of `{path}` is corrupt: `{key}`: {reason}")]
    Table {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
        /// The entry, its value, and what is allowed.
        reason: String,
    },
    /// The BPE library refused the tables.
    #[error("the tokenizer of `{path}` cannot be built")]
    Build {
        /// The file.
        path: PathBuf,
        /// What the library said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The BPE library failed on a text.
    #[error("a text of {len_bytes} bytes cannot be tokenized")]
    Encode {
        /// Length of the text.
        len_bytes: usize,
        /// What the library said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Control,
    UserDefined,
    Unused,
}

struct AddedToken {
    id: u32,
    text: String,
    kind: Kind,
}

impl Tokenizer {
    /// Builds the tokenizer that the file describes.
    ///
    /// # Errors
    /// A key is missing, the kind of tokenizer (`tokenizer.ggml.model`, `tokenizer.ggml.pre`) is
    /// not one that is known to be right, or the tables contradict each other.
    pub fn from_gguf(gguf: &Gguf) -> Result<Self, TokenizerError> {
        let path = gguf.path();
        let unknown = |key, found: &str, known| TokenizerError::Unknown {
            path: path.to_owned(),
            key,
            found: found.to_owned(),
            known,
        };
        let table = |key, reason| TokenizerError::Table {
            path: path.to_owned(),
            key,
            reason,
        };
        let build = |source| TokenizerError::Build {
            path: path.to_owned(),
            source,
        };

        let model = gguf.string("tokenizer.ggml.model")?;
        if model != "gpt2" {
            return Err(unknown("tokenizer.ggml.model", model, "`gpt2`"));
        }
        let pre = gguf.string("tokenizer.ggml.pre")?;
        let (normalizer, pre_tokenizer) = match pre {
            "qwen2" => (Some(NormalizerWrapper::NFC(NFC)), qwen2_pieces().map_err(build)?),
            "smollm" => (None, smollm_pieces()),
            other => return Err(unknown("tokenizer.ggml.pre", other, "`qwen2`, `smollm`")),
        };

        let tokens = gguf.strings("tokenizer.ggml.tokens")?;
        let kinds = kinds(gguf, tokens.len())?;
        let bytes = TokenBytes::new(tokens, |id| kinds[id] == Kind::Normal)
            .map_err(|reason| table("tokenizer.ggml.tokens", reason))?;

        let mut vocab = Vocab::default();
        let mut added = Vec::new();
        for ((id, text), &kind) in (0u32..).zip(tokens).zip(&kinds) {
            match kind {
                Kind::Normal => {
                    if let Some(other) = vocab.insert(text.clone(), id) {
                        let reason = format!("tokens {other} and {id} are both `{text}`");
                        return Err(table("tokenizer.ggml.tokens", reason));
                    }
                }
                Kind::Control | Kind::UserDefined => {
                    if text.is_empty() {
                        let reason = format!("control token {id} is empty");
                        return Err(table("tokenizer.ggml.tokens", reason));
                    }
                    added.push(AddedToken {
                        id,
                        text: text.clone(),
                        kind,
                    });
                }
                Kind::Unused => {}
            }
        }
        added.sort_by_key(|token| std::cmp::Reverse(token.text.len()));

        let merges = gguf
            .strings("tokenizer.ggml.merges")?
            .iter()
            .enumerate()
            .map(|(index, merge)| match merge.split_once(' ') {
                Some((left, right)) => Ok((left.to_owned(), right.to_owned())),
                None => Err(table(
                    "tokenizer.ggml.merges",
                    format!("merge {index} is `{merge}`, expected two tokens with a space between"),
                )),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let model = BPE::builder()
            .vocab_and_merges(vocab, merges)
            .build()
            .map_err(build)?;
        let mut bpe = tokenizers::Tokenizer::new(model);
        bpe.with_normalizer(normalizer).map_err(build)?;
        bpe.with_pre_tokenizer(Some(pre_tokenizer));

        let end_ids = end_ids(gguf, &added, tokens.len())?;
        let sampleable = kinds.iter().map(|&kind| kind != Kind::Unused).collect();
        Ok(Self {
            bpe,
            added,
            bytes,
            kinds,
            sampleable,
            end_ids,
        })
    }

    /// The token ids of a text. Nothing is put before or after it.
    ///
    /// # Errors
    /// The BPE library failed; not known to happen.
    pub fn encode(&self, text: &str, specials: Specials) -> Result<Vec<u32>, TokenizerError> {
        match specials {
            Specials::Parse => self.encode_around(text, &[]),
            Specials::AsText => self.encode_around(text, std::slice::from_ref(&(0..text.len()))),
        }
    }

    /// The token ids of a text of which some ranges, ascending and apart, are from elsewhere: no
    /// control token is seen that touches one of them.
    pub(crate) fn encode_around(
        &self,
        text: &str,
        plain: &[Range<usize>],
    ) -> Result<Vec<u32>, TokenizerError> {
        let mut ids = Vec::new();
        let mut piece_start = 0;
        let mut at = 0;
        while at < text.len() {
            let Some(token) = self.added_token_at(text, at, plain) else {
                at += 1;
                continue;
            };
            self.encode_piece(&text[piece_start..at], &mut ids)?;
            ids.push(token.id);
            at += token.text.len();
            piece_start = at;
        }
        self.encode_piece(&text[piece_start..], &mut ids)?;
        Ok(ids)
    }

    /// The longest added token at byte `at` that may be seen there.
    fn added_token_at(&self, text: &str, at: usize, plain: &[Range<usize>]) -> Option<&AddedToken> {
        let rest = &text.as_bytes()[at..];
        self.added.iter().find(|token| {
            rest.starts_with(token.text.as_bytes())
                && (token.kind == Kind::UserDefined || !touches(plain, at..at + token.text.len()))
        })
    }

    fn encode_piece(&self, piece: &str, ids: &mut Vec<u32>) -> Result<(), TokenizerError> {
        if !piece.is_empty() {
            let encoding = self
                .bpe
                .encode_fast(piece, false)
                .map_err(|source| TokenizerError::Encode {
                    len_bytes: piece.len(),
                    source,
                })?;
            ids.extend_from_slice(encoding.get_ids());
        }
        Ok(())
    }

    /// The text of token ids, without control tokens. U+FFFD stands only where the bytes of all
    /// tokens together are not UTF-8. Ids outside the vocabulary are left out.
    pub fn decode(&self, ids: &[u32]) -> String {
        let mut bytes = Vec::new();
        for &id in ids {
            if self.kinds.get(id as usize) != Some(&Kind::Control) {
                bytes.extend_from_slice(self.token_bytes(id));
            }
        }
        match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }
    }

    /// The bytes of one token, which need not be whole characters; of a control token its name.
    /// Empty for unused ids and ids outside the vocabulary.
    pub fn token_bytes(&self, id: u32) -> &[u8] {
        match self.kinds.get(id as usize) {
            None | Some(Kind::Unused) => &[],
            Some(_) => self.bytes.get(id as usize),
        }
    }

    /// Ids that end a generation, ascending.
    pub fn end_ids(&self) -> &[u32] {
        &self.end_ids
    }

    /// For each id, whether it may be sampled: false for ids that only pad the vocabulary.
    pub fn sampleable(&self) -> &[bool] {
        &self.sampleable
    }

    /// Number of ids, unused ones included.
    pub fn vocab_size(&self) -> usize {
        self.kinds.len()
    }

    /// Whether any control token occurs in a text.
    pub(crate) fn has_control_token(&self, text: &str) -> bool {
        self.added
            .iter()
            .any(|token| token.kind == Kind::Control && text.contains(&token.text))
    }
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer")
            .field("vocab_size", &self.vocab_size())
            .field("end_ids", &self.end_ids)
            .finish_non_exhaustive()
    }
}

/// Whether `range` overlaps one of `ranges`, which are ascending.
fn touches(ranges: &[Range<usize>], range: Range<usize>) -> bool {
    let first = ranges.partition_point(|other| other.end <= range.start);
    ranges.get(first).is_some_and(|other| other.start < range.end)
}

fn qwen2_pieces() -> tokenizers::Result<PreTokenizerWrapper> {
    let split = Split::new(
        SplitPattern::Regex(QWEN2_PIECES.to_owned()),
        SplitDelimiterBehavior::Isolated,
        false,
    )?;
    Ok(PreTokenizerWrapper::Sequence(Sequence::new(vec![
        PreTokenizerWrapper::Split(split),
        PreTokenizerWrapper::ByteLevel(ByteLevel::new(false, true, false)),
    ])))
}

fn smollm_pieces() -> PreTokenizerWrapper {
    PreTokenizerWrapper::Sequence(Sequence::new(vec![
        PreTokenizerWrapper::Digits(Digits::new(true)),
        PreTokenizerWrapper::ByteLevel(ByteLevel::new(false, true, true)),
    ]))
}

fn kinds(gguf: &Gguf, vocab_size: usize) -> Result<Vec<Kind>, TokenizerError> {
    let key = "tokenizer.ggml.token_type";
    let table = |reason| TokenizerError::Table {
        path: gguf.path().to_owned(),
        key,
        reason,
    };
    let types = gguf.integers(key)?;
    if types.len() != vocab_size {
        return Err(table(format!("{} types for {vocab_size} tokens", types.len())));
    }
    let kind = |(id, &number): (usize, &i64)| match number {
        1 => Ok(Kind::Normal),
        3 => Ok(Kind::Control),
        4 => Ok(Kind::UserDefined),
        5 => Ok(Kind::Unused),
        other => Err(table(format!(
            "token {id} has type `{other}`, allowed are 1, 3, 4, 5"
        ))),
    };
    types.iter().enumerate().map(kind).collect()
}

fn end_ids(gguf: &Gguf, added: &[AddedToken], vocab_size: usize) -> Result<Vec<u32>, TokenizerError> {
    let key = "tokenizer.ggml.eos_token_id";
    let end = gguf.u64(key)?;
    let end = u32::try_from(end)
        .ok()
        .filter(|&id| (id as usize) < vocab_size)
        .ok_or_else(|| {
            let reason = format!("id `{end}` of a vocabulary of {vocab_size}");
            TokenizerError::Table {
                path: gguf.path().to_owned(),
                key,
                reason,
            }
        })?;
    let mut ids: Vec<u32> = added
        .iter()
        .filter(|t| t.kind == Kind::Control && END_TOKENS.contains(&t.text.as_str()))
        .map(|token| token.id)
        .chain([end])
        .collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}
