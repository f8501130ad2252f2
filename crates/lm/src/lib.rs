//! Language models: GGUF files, tokenizers, the decoder, its cache, sampling, adapters and their gradients.
//!
//! ```text
//! GGUF file -> LanguageModel { config, tokenizer, template, model }
//! sampler:  Model::forward(rows with caches) -> logits -> sampling::sample
//! trainer:  train::logprobs_and_gradient(group) -> log-probs, gradient of an Adapter
//! ```
//!
//! Sampler and trainer run the same kernels on the same weights, so their log-probabilities agree.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::config::{ConfigError, ModelConfig};
use crate::device::Device;
use crate::gguf::{Gguf, GgufError};
use crate::model::Model;
use crate::template::{ChatTemplate, TemplateError};
use crate::tokenizer::{Tokenizer, TokenizerError};
use crate::weights::WeightsError;

mod backward;
pub mod cache;
pub mod config;
pub mod device;
#[cfg(test)]
mod fixtures;
pub mod gguf;
mod host;
pub mod lora;
mod matrix;
pub mod model;
pub mod sampling;
pub mod template;
mod tensors;
#[cfg(test)]
mod testing;
pub mod tokenizer;
pub mod train;
pub mod weights;

/// A model with everything needed to talk to it, from one file.
pub struct LanguageModel {
    /// The model's dimensions.
    pub config: ModelConfig,
    /// Text to token ids and back.
    pub tokenizer: Tokenizer,
    /// Chat messages to token ids.
    pub template: ChatTemplate,
    /// The decoder.
    pub model: Model,
    /// SHA-256 of the file, in hex.
    pub sha256: String,
}

/// Why a file does not give a model.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is not readable or corrupt.
    #[error(transparent)]
    Gguf(#[from] GgufError),
    /// The file describes a model that cannot be run.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The tokenizer cannot be built.
    #[error("cannot build the tokenizer of `{path}`")]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// Why.
        source: TokenizerError,
    },
    /// The chat template is missing or wrong.
    #[error("cannot read the chat template of `{path}`")]
    Template {
        /// The file.
        path: PathBuf,
        /// Why.
        source: TemplateError,
    },
    /// A tensor is missing, unused or misshapen.
    #[error("cannot load the weights of `{path}`")]
    Weights {
        /// The file.
        path: PathBuf,
        /// Why.
        source: WeightsError,
    },
    /// Tokenizer and embedding disagree.
    #[error("`{path}` has {tokens} tokens and {embeddings} embeddings")]
    Vocabulary {
        /// The file.
        path: PathBuf,
        /// Ids of the tokenizer.
        tokens: usize,
        /// Rows of the embedding.
        embeddings: usize,
    },
}

impl LanguageModel {
    /// Loads a GGUF file.
    ///
    /// # Errors
    /// A corrupt file, an unknown architecture or tokenizer, tensors that are missing, unused or of
    /// the wrong shape. All name the file.
    pub fn load(path: &Path, device: &Device) -> Result<Self, LoadError> {
        let gguf = Arc::new(Gguf::open(path)?);
        let config = ModelConfig::from_gguf(&gguf)?;
        let path = || path.to_owned();
        let tokenizer =
            Tokenizer::from_gguf(&gguf).map_err(|source| LoadError::Tokenizer { path: path(), source })?;
        let template =
            ChatTemplate::from_gguf(&gguf).map_err(|source| LoadError::Template { path: path(), source })?;
        if tokenizer.vocab_size() != config.vocab_size {
            return Err(LoadError::Vocabulary {
                path: path(),
                tokens: tokenizer.vocab_size(),
                embeddings: config.vocab_size,
            });
        }
        let digest = std::thread::scope(|scope| {
            let digest = scope.spawn(|| Sha256::digest(gguf.bytes()));
            let model = Model::from_gguf(Arc::clone(&gguf), config.clone(), device);
            // Hashing bytes in memory does not panic.
            model.map(|model| (model, digest.join().expect("the hashing thread panicked")))
        });
        let (model, digest) = digest.map_err(|source| LoadError::Weights { path: path(), source })?;
        let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self {
            config,
            tokenizer,
            template,
            model,
            sha256,
        })
    }
}
