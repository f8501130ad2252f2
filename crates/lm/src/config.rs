//! What shape has the model in a GGUF file?

use std::fmt;
use std::path::PathBuf;

use crate::gguf::{Gguf, GgufError};

#[cfg(test)]
mod tests;

/// A family of dense decoders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// Qwen2 and Qwen2.5: biases on q, k and v.
    Qwen2,
    /// Llama, SmolLM2: no biases. Its GGUF files have the rows of q and k permuted.
    Llama,
}

/// The dimensions and constants of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfig {
    /// The family.
    pub architecture: Architecture,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width inside the feed-forward block.
    pub intermediate_size: usize,
    /// Number of blocks.
    pub layers: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; divides `heads`.
    pub kv_heads: usize,
    /// Width of one head; even.
    pub head_dim: usize,
    /// Number of token ids, padding ids included.
    pub vocab_size: usize,
    /// Longest sequence, in tokens.
    pub context_length: usize,
    /// Added to the mean square in RMSNorm.
    pub rms_norm_eps: f64,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
}

/// Why a file does not describe a model that can be run.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A key is missing or of another type.
    #[error(transparent)]
    Gguf(#[from] GgufError),
    /// An architecture that is not implemented.
    #[error("`{path}` has architecture `{found}` in `general.architecture`; known are `qwen2`, `llama`")]
    UnknownArchitecture {
        /// The file.
        path: PathBuf,
        /// The name read.
        found: String,
    },
    /// A value that does not fit the others, or a feature that is not implemented.
    #[error("metadata key `{key}` of `{path}` is `{found}`, expected {wanted}")]
    Value {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// The value read.
        found: String,
        /// What is allowed.
        wanted: String,
    },
}

impl Architecture {
    /// The name that GGUF files use, also the prefix of their keys.
    pub fn name(self) -> &'static str {
        match self {
            Self::Qwen2 => "qwen2",
            Self::Llama => "llama",
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ModelConfig {
    /// Reads the configuration, and checks that its values fit each other and `token_embd.weight`.
    ///
    /// # Errors
    /// Names the key, its value, and what is allowed: an unknown architecture, a scaled rotary
    /// embedding, a missing key, dimensions that contradict each other.
    pub fn from_gguf(gguf: &Gguf) -> Result<Self, ConfigError> {
        let architecture = match gguf.string("general.architecture")? {
            "qwen2" => Architecture::Qwen2,
            "llama" => Architecture::Llama,
            other => {
                return Err(ConfigError::UnknownArchitecture {
                    path: gguf.path().to_owned(),
                    found: other.to_owned(),
                });
            }
        };
        let keys = Keys { gguf, architecture };
        keys.refuse_rope_scaling()?;

        let hidden_size = keys.size("embedding_length")?;
        let heads = keys.size("attention.head_count")?;
        let kv_heads = keys.size_or("attention.head_count_kv", heads)?;
        if !heads.is_multiple_of(kv_heads) {
            let wanted = format!("a divisor of the {heads} query heads");
            return Err(keys.wrong("attention.head_count_kv", kv_heads, wanted));
        }
        let head_dim = keys.size_or("attention.key_length", hidden_size / heads)?;
        if head_dim == 0 || !head_dim.is_multiple_of(2) {
            let wanted = "an even size of one head".to_owned();
            return Err(keys.wrong("attention.key_length", head_dim, wanted));
        }
        for key in ["attention.value_length", "rope.dimension_count"] {
            let size = keys.size_or(key, head_dim)?;
            if size != head_dim {
                return Err(keys.wrong(key, size, format!("{head_dim}, the size of one head")));
            }
        }
        let embedding = gguf.tensor("token_embd.weight")?;
        if embedding.row_len() != hidden_size {
            let wanted = format!("{}, the row length of `token_embd.weight`", embedding.row_len());
            return Err(keys.wrong("embedding_length", hidden_size, wanted));
        }
        Ok(Self {
            architecture,
            hidden_size,
            intermediate_size: keys.size("feed_forward_length")?,
            layers: keys.size("block_count")?,
            heads,
            kv_heads,
            head_dim,
            vocab_size: embedding.rows(),
            context_length: keys.size("context_length")?,
            rms_norm_eps: keys.positive("attention.layer_norm_rms_epsilon")?,
            rope_theta: keys.positive("rope.freq_base")?,
        })
    }
}

/// Keys below `<architecture>.`.
struct Keys<'a> {
    gguf: &'a Gguf,
    architecture: Architecture,
}

impl Keys<'_> {
    fn full(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    /// A count or width, at least 1 and at most 2³¹ (so that products of two fit).
    fn size(&self, key: &str) -> Result<usize, ConfigError> {
        let value = self.gguf.u64(&self.full(key))?;
        if (1..=1 << 31).contains(&value) {
            Ok(value as usize)
        } else {
            Err(self.wrong(key, value, "1 to 2147483648".to_owned()))
        }
    }

    fn size_or(&self, key: &str, default: usize) -> Result<usize, ConfigError> {
        if self.gguf.contains(&self.full(key)) {
            self.size(key)
        } else {
            Ok(default)
        }
    }

    fn positive(&self, key: &str) -> Result<f64, ConfigError> {
        let value = self.gguf.f64(&self.full(key))?;
        if value.is_finite() && value > 0.0 {
            Ok(value)
        } else {
            Err(self.wrong(key, value, "a finite number above 0".to_owned()))
        }
    }

    fn refuse_rope_scaling(&self) -> Result<(), ConfigError> {
        let key = "rope.scaling.type";
        if self.gguf.contains(&self.full(key)) {
            let kind = self.gguf.string(&self.full(key))?;
            if kind != "none" {
                let wanted = "`none`: scaled rotary embeddings are not supported".to_owned();
                return Err(self.wrong(key, kind, wanted));
            }
        }
        Ok(())
    }

    fn wrong(&self, key: &str, found: impl fmt::Display, wanted: String) -> ConfigError {
        ConfigError::Value {
            path: self.gguf.path().to_owned(),
            key: self.full(key),
            found: found.to_string(),
            wanted,
        }
    }
}
