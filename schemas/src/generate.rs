//! `jm.lm.<model>.generate`: token ids or chat messages in, samples out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Request, generate_subject,
    ids::{ContentHash, ModelId},
};

/// Ask a model for `n` samples of one prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generate {
    /// The base model.
    pub model: ModelId,
    /// LoRA weights to use, none for the base model.
    pub adapter: Option<ContentHash>,
    /// What the model is shown.
    pub prompt: Prompt,
    /// How tokens are drawn; every field is stated, none has a hidden default.
    pub sampling: Sampling,
    /// Samples wanted from one prefill, at least 1. Sample `i` is drawn with sample index `sampling.first_sample + i`.
    pub n: u32,
}

impl Request for Generate {
    const NAME: &'static str = "generate";
    type Reply = Generated;
    fn subject(&self) -> String {
        generate_subject(&self.model)
    }
}

/// What the model is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// Chat messages, rendered with the model's own template. Special tokens inside contents stay plain text.
    Messages(Vec<ChatMessage>),
    /// Token ids, taken as they are.
    TokenIds(Vec<u32>),
}

/// One chat message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatMessage {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// Plain text.
    pub content: String,
}

/// How tokens are drawn. Training rollouts use [`Sampling::training`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sampling {
    /// 0 = greedy.
    pub temperature: f32,
    /// Nucleus mass in (0, 1]; 1 = off.
    pub top_p: f32,
    /// Candidates kept; 0 = off.
    pub top_k: u32,
    /// Least probability relative to the best token; 0 = off.
    pub min_p: f32,
    /// 1 = off.
    pub repetition_penalty: f32,
    /// 0 = off.
    pub presence_penalty: f32,
    /// 0 = off.
    pub frequency_penalty: f32,
    /// Most tokens to draw, at least 1.
    pub max_tokens: u32,
    /// No end token before this many tokens.
    pub min_tokens: u32,
    /// Text that ends the sample; it is not part of the text returned.
    pub stop: Vec<String>,
    /// Seed of the counter-based generator keyed (seed, sample index, position).
    pub seed: u64,
    /// Index of the first sample; sample `i` of the request is drawn with `first_sample + i`.
    pub first_sample: u32,
}

impl Sampling {
    /// Temperature 1, no top-p, no top-k, no penalties: what a policy gradient assumes.
    pub fn training(max_tokens: u32, seed: u64, first_sample: u32) -> Self {
        Self {
            temperature: 1.0,
            top_p: 1.0,
            top_k: 0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            max_tokens,
            min_tokens: 0,
            stop: Vec::new(),
            seed,
            first_sample,
        }
    }

    /// The most likely token at every position.
    pub fn greedy(max_tokens: u32) -> Self {
        Self {
            temperature: 0.0,
            ..Self::training(max_tokens, 0, 0)
        }
    }
}

/// The samples, with everything that was really used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generated {
    /// The base model that answered.
    pub model: ModelId,
    /// The adapter that was really used.
    pub adapter: Option<ContentHash>,
    /// The prompt as the model saw it.
    pub prompt_token_ids: Vec<u32>,
    /// The sampling parameters in force.
    pub sampling: Sampling,
    /// One entry per sample, in order of their index.
    pub samples: Vec<GeneratedSample>,
}

/// One completion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratedSample {
    /// Drawn ids, the end token included when there is one.
    pub token_ids: Vec<u32>,
    /// Raw log-probability of each drawn id (temperature 1, no filter), the same length as `token_ids`.
    pub logprobs: Vec<f32>,
    /// The ids as text, without special tokens and without the stop text.
    pub text: String,
    /// Why it ended.
    pub finish_reason: FinishReason,
}

/// Why a sample ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// An end token or a stop text.
    Stop,
    /// `max_tokens` or the context's end.
    Length,
}
