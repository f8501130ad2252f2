//! `Generate` in, `Generated` out: the same checks and the same engine for NATS and HTTP.

use std::{sync::Arc, time::Instant};

use journeyman_lm::{LanguageModel, template};
use journeyman_schemas::{
    fault::{Fault, FaultCode},
    generate::{Generate, Generated, Prompt, Sampling},
    ids::ModelId,
};

use crate::{
    adapters::Adapters,
    config::EngineConfig,
    engine::{Engine, Question},
    error::AnswerError,
};

/// Stop texts that one request may have, and the bytes of each.
const STOPS: usize = 16;
const STOP_BYTES: usize = 256;

/// A loaded model that answers.
pub struct Answerer {
    /// Name of the model.
    pub model: ModelId,
    /// The model.
    pub lm: Arc<LanguageModel>,
    /// Its adapters.
    pub adapters: Adapters,
    /// What decodes.
    pub engine: Engine,
    max_samples: u32,
}

impl Answerer {
    /// Puts the parts together.
    pub fn new(
        model: ModelId,
        lm: Arc<LanguageModel>,
        adapters: Adapters,
        engine: Engine,
        config: &EngineConfig,
    ) -> Self {
        Self {
            model,
            lm,
            adapters,
            engine,
            max_samples: config.max_samples,
        }
    }

    /// The samples of `request`, void after `deadline`. Dropping the future frees its rows within one step.
    ///
    /// # Errors
    /// `invalid` names the field, its value and what is allowed; `not_found` for an unknown model or adapter; else as
    /// [`Engine::ask`].
    pub async fn generate(&self, request: Generate, deadline: Instant) -> Result<Generated, AnswerError> {
        if request.model != self.model {
            let message = format!(
                "model `{}` is not served here; this is `{}`",
                request.model, self.model
            );
            return Err(Fault::new(FaultCode::NotFound, message).into());
        }
        check_sampling(&request.sampling)?;
        if request.n == 0 || request.n > self.max_samples {
            return Err(AnswerError::field(
                "n",
                request.n,
                format!("1 to {}", self.max_samples),
            ));
        }
        let prompt: Arc<[u32]> = self.prompt_ids(request.prompt)?.into();
        let adapter = match &request.adapter {
            Some(hash) => Some(self.adapters.get(hash).await?),
            None => None,
        };
        let question = Question {
            prompt: prompt.clone(),
            adapter: adapter.clone(),
            sampling: request.sampling.clone(),
            n: request.n,
            deadline,
        };
        let samples = self.engine.ask(question).await?;
        Ok(Generated {
            model: self.model.clone(),
            adapter: adapter.map(|adapter| adapter.hash.clone()),
            prompt_token_ids: prompt.to_vec(),
            sampling: request.sampling,
            samples,
        })
    }

    fn prompt_ids(&self, prompt: Prompt) -> Result<Vec<u32>, AnswerError> {
        let ids = match prompt {
            Prompt::TokenIds(ids) => ids,
            Prompt::Messages(messages) => {
                let messages = messages
                    .into_iter()
                    .map(|message| template::ChatMessage {
                        role: message.role,
                        content: message.content,
                    })
                    .collect::<Vec<_>>();
                let encoded = self.lm.template.encode(&self.lm.tokenizer, &messages, true);
                encoded.map_err(|error| AnswerError::invalid(format!("messages: {error}")))?
            }
        };
        let (vocabulary, context) = (self.lm.config.vocab_size, self.lm.config.context_length);
        if let Some(place) = ids.iter().position(|&id| id as usize >= vocabulary) {
            return Err(AnswerError::field(
                format!("token_ids[{place}]"),
                ids[place],
                format!("below `{vocabulary}`"),
            ));
        }
        if ids.is_empty() {
            return Err(AnswerError::invalid(
                "the prompt is empty: it must have at least one token",
            ));
        }
        if ids.len() >= context {
            let message = format!(
                "the prompt has `{}` tokens: it must leave room for one more in the model's context of `{context}`",
                ids.len()
            );
            return Err(AnswerError::invalid(message));
        }
        Ok(ids)
    }
}

/// Every sampling field in its range.
fn check_sampling(sampling: &Sampling) -> Result<(), AnswerError> {
    let numbers = [
        ("temperature", sampling.temperature, 0.0..=100.0, "0 to 100"),
        (
            "top_p",
            sampling.top_p,
            f32::MIN_POSITIVE..=1.0,
            "above 0, up to 1",
        ),
        ("min_p", sampling.min_p, 0.0..=1.0, "0 to 1"),
        (
            "repetition_penalty",
            sampling.repetition_penalty,
            f32::MIN_POSITIVE..=100.0,
            "above 0, up to 100",
        ),
        (
            "presence_penalty",
            sampling.presence_penalty,
            -2.0..=2.0,
            "-2 to 2",
        ),
        (
            "frequency_penalty",
            sampling.frequency_penalty,
            -2.0..=2.0,
            "-2 to 2",
        ),
    ];
    // NaN is in no range.
    if let Some((field, value, _, allowed)) =
        numbers.iter().find(|(_, value, range, _)| !range.contains(value))
    {
        return Err(AnswerError::field(*field, value, *allowed));
    }
    if sampling.max_tokens == 0 {
        return Err(AnswerError::field("max_tokens", 0, "at least 1"));
    }
    if sampling.min_tokens > sampling.max_tokens {
        return Err(AnswerError::field(
            "min_tokens",
            sampling.min_tokens,
            format!("at most max_tokens, `{}`", sampling.max_tokens),
        ));
    }
    if sampling.stop.len() > STOPS {
        return Err(AnswerError::field(
            "stop",
            format!("{} texts", sampling.stop.len()),
            format!("at most {STOPS}"),
        ));
    }
    match sampling
        .stop
        .iter()
        .find(|text| text.is_empty() || text.len() > STOP_BYTES)
    {
        Some(text) => Err(AnswerError::field(
            "stop",
            text,
            format!("1 to {STOP_BYTES} bytes each"),
        )),
        None => Ok(()),
    }
}
