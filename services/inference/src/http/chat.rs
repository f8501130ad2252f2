//! Chat completions: OpenAI's JSON to [`Generate`] and back.
//!
//! Unknown fields are ignored, as OpenAI does; a known field with a wrong value is refused by name.

use std::time::{SystemTime, UNIX_EPOCH};

use journeyman_schemas::{
    fault::{Fault, FaultCode},
    generate::{ChatMessage, FinishReason, Generate, Generated, GeneratedSample, Prompt, Sampling},
    ids::ContentHash,
};
use serde_json::{Map, Value, json};

use super::failure::Failure;
use crate::{error::AnswerError, handler::Answerer};

/// A parsed request.
pub(super) struct Asked {
    pub(super) generate: Generate,
    pub(super) shape: Shape,
}

/// How the answer is to look.
pub(super) struct Shape {
    /// The model as the client named it.
    model: String,
    logprobs: bool,
}

/// Reads a request body.
pub(super) fn parse(body: &[u8], answerer: &Answerer) -> Result<Asked, Failure> {
    let value = serde_json::from_slice::<Value>(body).map_err(|error| Failure::json(&error))?;
    let Value::Object(object) = value else {
        return Err(AnswerError::invalid("the body must be a JSON object").into());
    };
    let fields = Fields(&object);
    refuse_unsupported(&fields)?;
    let model = fields.string("model")?.ok_or_else(|| missing("model"))?;
    let adapter = adapter(model, answerer)?;
    let messages = messages(&fields)?;
    let sampling = sampling(&fields)?;
    let n = fields.unsigned("n")?.unwrap_or(1);
    let generate = Generate {
        model: answerer.model.clone(),
        adapter,
        prompt: Prompt::Messages(messages),
        sampling,
        n,
    };
    Ok(Asked {
        generate,
        shape: Shape {
            model: model.into(),
            logprobs: fields.boolean("logprobs")?.unwrap_or(false),
        },
    })
}

fn refuse_unsupported(fields: &Fields<'_>) -> Result<(), AnswerError> {
    if fields.boolean("stream")? == Some(true) {
        return Err(AnswerError::field(
            "stream",
            "true",
            "false: streaming is not yet supported",
        ));
    }
    match fields.unsigned("top_logprobs")? {
        None | Some(0) => Ok(()),
        Some(count) => Err(AnswerError::field(
            "top_logprobs",
            count,
            "0: only the drawn token's log-probability is given",
        )),
    }
}

/// The adapter that `model` names: none for the base model's id; else a hash, `<run>@<version>` or `<run>`.
fn adapter(model: &str, answerer: &Answerer) -> Result<Option<ContentHash>, AnswerError> {
    if model == answerer.model.as_str() {
        return Ok(None);
    }
    let hash = answerer
        .adapters
        .named(model)
        .or_else(|| ContentHash::new(model).ok());
    hash.map(Some).ok_or_else(|| {
        let message = format!(
            "model `{model}` is unknown: it must be `{}`, an adapter's hash, `<run>@<version>` or `<run>`",
            answerer.model
        );
        Fault::new(FaultCode::NotFound, message).into()
    })
}

fn messages(fields: &Fields<'_>) -> Result<Vec<ChatMessage>, AnswerError> {
    let list = match fields.get("messages") {
        Some(Value::Array(list)) if !list.is_empty() => list,
        Some(Value::Array(_)) => {
            return Err(AnswerError::field(
                "messages",
                "[]",
                "a list of at least one message",
            ));
        }
        Some(other) => return Err(AnswerError::field("messages", other, "a list of messages")),
        None => return Err(missing("messages")),
    };
    list.iter()
        .enumerate()
        .map(|(place, value)| message(&format!("messages[{place}]"), value))
        .collect()
}

fn message(name: &str, value: &Value) -> Result<ChatMessage, AnswerError> {
    let Value::Object(object) = value else {
        return Err(AnswerError::field(
            name,
            value,
            "an object with `role` and `content`",
        ));
    };
    let role = match object.get("role") {
        Some(Value::String(role)) if ["system", "user", "assistant"].contains(&role.as_str()) => role.clone(),
        // OpenAI's newer word.
        Some(Value::String(role)) if role == "developer" => "system".into(),
        other => {
            let value = other.unwrap_or(&Value::Null);
            return Err(AnswerError::field(
                format!("{name}.role"),
                value,
                "`system`, `user` or `assistant`",
            ));
        }
    };
    let content = match object.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => text_parts(name, parts)?,
        other => {
            let value = other.unwrap_or(&Value::Null);
            return Err(AnswerError::field(
                format!("{name}.content"),
                value,
                "a string or a list of text parts",
            ));
        }
    };
    Ok(ChatMessage { role, content })
}

fn text_parts(name: &str, parts: &[Value]) -> Result<String, AnswerError> {
    let mut text = String::new();
    for (place, part) in parts.iter().enumerate() {
        match (
            part.get("type").and_then(Value::as_str),
            part.get("text").and_then(Value::as_str),
        ) {
            (Some("text"), Some(piece)) => text.push_str(piece),
            _ => {
                let field = format!("{name}.content[{place}]");
                return Err(AnswerError::field(
                    field,
                    part,
                    "`{\"type\": \"text\", \"text\": …}`",
                ));
            }
        }
    }
    Ok(text)
}

/// OpenAI's defaults where a field is absent: temperature 1, nothing filtered, a new seed, tokens to the context's end.
fn sampling(fields: &Fields<'_>) -> Result<Sampling, AnswerError> {
    let max_tokens = match fields.unsigned("max_completion_tokens")? {
        Some(max_tokens) => Some(max_tokens),
        None => fields.unsigned("max_tokens")?,
    };
    let seed = match fields.get("seed") {
        None => rand::random(),
        Some(value) => {
            let seed = value.as_u64().or_else(|| value.as_i64().map(i64::cast_unsigned));
            seed.ok_or_else(|| AnswerError::field("seed", value, "a 64-bit integer"))?
        }
    };
    Ok(Sampling {
        temperature: fields.number("temperature")?.unwrap_or(1.0),
        top_p: fields.number("top_p")?.unwrap_or(1.0),
        top_k: fields.unsigned("top_k")?.unwrap_or(0),
        min_p: fields.number("min_p")?.unwrap_or(0.0),
        repetition_penalty: fields.number("repetition_penalty")?.unwrap_or(1.0),
        presence_penalty: fields.number("presence_penalty")?.unwrap_or(0.0),
        frequency_penalty: fields.number("frequency_penalty")?.unwrap_or(0.0),
        max_tokens: max_tokens.unwrap_or(u32::MAX),
        min_tokens: fields.unsigned("min_tokens")?.unwrap_or(0),
        stop: stop(fields)?,
        seed,
        first_sample: 0,
    })
}

fn stop(fields: &Fields<'_>) -> Result<Vec<String>, AnswerError> {
    match fields.get("stop") {
        None => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![text.clone()]),
        Some(Value::Array(list)) => list
            .iter()
            .map(|value| value.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or_else(|| {
                AnswerError::field(
                    "stop",
                    Value::Array(list.clone()),
                    "a string or a list of strings",
                )
            }),
        Some(other) => Err(AnswerError::field("stop", other, "a string or a list of strings")),
    }
}

fn missing(field: &str) -> AnswerError {
    AnswerError::field(field, "missing", "given")
}

/// The fields of a request; `null` counts as absent.
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn read<T>(
        &self,
        name: &str,
        allowed: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, AnswerError> {
        let value = self.get(name);
        value
            .map(|value| read(value).ok_or_else(|| AnswerError::field(name, value, allowed)))
            .transpose()
    }

    fn string(&self, name: &str) -> Result<Option<&'a str>, AnswerError> {
        self.read(name, "a string", Value::as_str)
    }

    fn boolean(&self, name: &str) -> Result<Option<bool>, AnswerError> {
        self.read(name, "true or false", Value::as_bool)
    }

    fn number(&self, name: &str) -> Result<Option<f32>, AnswerError> {
        self.read(name, "a number", |value| {
            value.as_f64().map(|number| number as f32)
        })
    }

    fn unsigned(&self, name: &str) -> Result<Option<u32>, AnswerError> {
        self.read(name, "a whole number from 0 to 4294967295", |value| {
            value.as_u64()?.try_into().ok()
        })
    }
}

/// The answer as OpenAI's `chat.completion`, with the adapter that was really used.
pub(super) fn render(answerer: &Answerer, shape: &Shape, generated: &Generated) -> Value {
    let choices = generated.samples.iter().enumerate().map(|(index, sample)| {
        json!({
            "index": index,
            "message": { "role": "assistant", "content": sample.text },
            "logprobs": if shape.logprobs { logprobs(answerer, sample) } else { Value::Null },
            "finish_reason": match sample.finish_reason {
                FinishReason::Stop => "stop",
                FinishReason::Length => "length",
            },
        })
    });
    let choices = choices.collect::<Vec<_>>();
    let prompt = generated.prompt_token_ids.len();
    let completion = generated
        .samples
        .iter()
        .map(|sample| sample.token_ids.len())
        .sum::<usize>();
    let usage = json!({
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    });
    json!({
        "id": format!("chatcmpl-{}", uuid::Uuid::new_v4().simple()),
        "object": "chat.completion",
        "created": unix_seconds(),
        "model": shape.model,
        "adapter": generated.adapter,
        "choices": choices,
        "usage": usage,
    })
}

fn logprobs(answerer: &Answerer, sample: &GeneratedSample) -> Value {
    let token = |(&id, &logprob): (&u32, &f32)| {
        let bytes = answerer.lm.tokenizer.token_bytes(id);
        json!({
            "token": String::from_utf8_lossy(bytes),
            "bytes": bytes,
            "logprob": logprob,
            "top_logprobs": [],
        })
    };
    let content = sample
        .token_ids
        .iter()
        .zip(&sample.logprobs)
        .map(token)
        .collect::<Vec<_>>();
    json!({ "content": content })
}

/// The base model, named adapters and adapters in memory, as OpenAI's list.
pub(super) fn model_list(answerer: &Answerer) -> Value {
    let base = answerer.model.as_str();
    let entry = |id: &str, root: &str, parent: Option<&str>| {
        json!({
            "id": id,
            "object": "model",
            "owned_by": "journeyman",
            "root": root,
            "parent": parent,
            "max_model_len": answerer.lm.config.context_length,
        })
    };
    let mut data = vec![entry(base, base, None)];
    let names = answerer.adapters.names();
    data.extend(
        names
            .iter()
            .map(|(name, hash)| entry(name, hash.as_str(), Some(base))),
    );
    let loaded = answerer.adapters.loaded();
    data.extend(
        loaded
            .iter()
            .map(|hash| entry(hash.as_str(), hash.as_str(), Some(base))),
    );
    json!({ "object": "list", "data": data })
}

fn unix_seconds() -> u64 {
    // A clock before 1970 gives 0.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |elapsed| elapsed.as_secs())
}
