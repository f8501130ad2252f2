//! A model that says what the test wrote down.

use std::sync::{Arc, Mutex, PoisonError};

use journeyman_bus::{Bus, BusError};
use journeyman_schemas::{
    envelope::Envelope,
    fault::{Fault, FaultCode},
    generate::{FinishReason, Generate, Generated, GeneratedSample, Prompt},
    generate_subject,
    ids::ModelId,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Answers `jm.lm.<model>.generate` with scripted text until dropped. Token ids are the text's bytes and an end token
/// 256; every log-probability is −1.
pub struct ScriptedLm {
    asked: Arc<Mutex<Vec<Generate>>>,
    stop: CancellationToken,
    task: JoinHandle<Result<(), BusError>>,
}

/// Requests answered at once.
const SLOTS: usize = 64;
/// Token id that ends a sample.
const END: u32 = 256;

impl ScriptedLm {
    /// Answers every sample with `text`.
    pub fn always(bus: &Bus, model: &ModelId, text: &str) -> Self {
        let text = text.to_string();
        Self::start(bus, model, move |_, _| Ok(text.clone()))
    }

    /// Answers sample `i` (its index in the group, `first_sample` included) of each request with `script(request, i)`.
    pub fn start<F>(bus: &Bus, model: &ModelId, script: F) -> Self
    where
        F: Fn(&Generate, u32) -> Result<String, Fault> + Send + Sync + 'static,
    {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let stop = CancellationToken::new();
        let script = Arc::new(script);
        let task = tokio::spawn({
            let (bus, subject, stop, asked) =
                (bus.clone(), generate_subject(model), stop.clone(), asked.clone());
            async move {
                let answer = move |envelope: Envelope<Generate>| {
                    let request = envelope.body;
                    asked
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(request.clone());
                    let answer = generated(request, &*script);
                    async move { answer }
                };
                bus.listen(subject)
                    .await?
                    .serve(SLOTS, stop, Arc::new(()), answer)
                    .await
            }
        });
        Self { asked, stop, task }
    }

    /// The requests so far, in order of arrival.
    pub fn asked(&self) -> Vec<Generate> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Answers what is under way, then goes off the subject.
    pub async fn stop(mut self) {
        self.stop.cancel();
        // A task that failed has nothing more to answer.
        drop((&mut self.task).await);
    }
}

impl Drop for ScriptedLm {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn generated(
    request: Generate,
    script: &impl Fn(&Generate, u32) -> Result<String, Fault>,
) -> Result<Generated, Fault> {
    let first = request.sampling.first_sample;
    let end = first.checked_add(request.n);
    let end = end.ok_or_else(|| Fault::new(FaultCode::Invalid, format!("`n` is {}, too many", request.n)))?;
    let samples = (first..end).map(|index| Ok(sample(script(&request, index)?, request.sampling.max_tokens)));
    Ok(Generated {
        samples: samples.collect::<Result<_, Fault>>()?,
        prompt_token_ids: prompt_ids(&request.prompt),
        model: request.model,
        adapter: request.adapter,
        sampling: request.sampling,
    })
}

fn sample(text: String, max_tokens: u32) -> GeneratedSample {
    let limit = usize::try_from(max_tokens).unwrap_or(usize::MAX);
    let mut token_ids: Vec<u32> = text.bytes().map(u32::from).chain([END]).collect();
    let finish_reason = if token_ids.len() > limit {
        FinishReason::Length
    } else {
        FinishReason::Stop
    };
    token_ids.truncate(limit);
    let bytes: Vec<u8> = text.bytes().take(limit).collect();
    GeneratedSample {
        logprobs: vec![-1.0; token_ids.len()],
        token_ids,
        text: String::from_utf8_lossy(&bytes).into_owned(),
        finish_reason,
    }
}

fn prompt_ids(prompt: &Prompt) -> Vec<u32> {
    match prompt {
        Prompt::TokenIds(ids) => ids.clone(),
        Prompt::Messages(messages) => messages
            .iter()
            .flat_map(|message| message.content.bytes())
            .map(u32::from)
            .collect(),
    }
}
