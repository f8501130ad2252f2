//! One completion from a model server, drawn as asked or not taken.

use journeyman_bus::{JobError, RequestError};
use journeyman_schemas::{
    envelope::Envelope,
    fault::FaultCode,
    generate::{ChatMessage, FinishReason, Generate, Generated, Prompt},
    ids::ContentHash,
    job::{Completion, Generation},
};

use crate::{Context, Metric};

impl<C> Context<C> {
    /// Asks for one completion of `messages` on behalf of `job`, and counts its tokens. The error says what becomes of
    /// the job: a prompt longer than the context is poison, a server that is busy, away or without the adapter is not.
    pub async fn complete<T>(
        &self,
        job: &Envelope<T>,
        generation: &Generation,
        messages: Vec<ChatMessage>,
    ) -> Result<Completion, JobError> {
        let request = Generate {
            model: generation.model.clone(),
            adapter: generation.adapter.clone(),
            prompt: Prompt::Messages(messages),
            sampling: generation.sampling.clone(),
            n: 1,
        };
        let reply = self
            .bus
            .request(&job.next(format!("{}/generate", job.id), request))
            .await;
        let completion = checked(reply.map_err(retry_unknown)?.body, generation)?;
        self.metrics.add(
            Metric::AskedPromptTokens,
            &[],
            completion.prompt_token_ids.len() as f64,
        );
        self.metrics.add(
            Metric::AskedCompletionTokens,
            &[],
            completion.token_ids.len() as f64,
        );
        Ok(completion)
    }
}

/// An adapter that the model server has not seen yet is on its way to it.
fn retry_unknown(error: RequestError) -> JobError {
    match &error {
        RequestError::Fault { fault, .. } if fault.code == FaultCode::NotFound => {
            JobError::retry(error.to_string())
        }
        _ => error.into(),
    }
}

/// The one sample of a reply.
fn checked(reply: Generated, asked: &Generation) -> Result<Completion, JobError> {
    if reply.adapter != asked.adapter {
        let name =
            |adapter: &Option<ContentHash>| adapter.as_ref().map_or("none", ContentHash::short).to_owned();
        let (used, wanted) = (name(&reply.adapter), name(&asked.adapter));
        return Err(JobError::retry(format!(
            "adapter `{used}` was used, `{wanted}` was asked for"
        )));
    }
    let count = reply.samples.len();
    let mut samples = reply.samples.into_iter();
    let (Some(sample), None) = (samples.next(), samples.next()) else {
        return Err(JobError::retry(format!(
            "the reply has {count} samples, 1 was asked for"
        )));
    };
    if sample.token_ids.len() != sample.logprobs.len() {
        let (tokens, logprobs) = (sample.token_ids.len(), sample.logprobs.len());
        return Err(JobError::retry(format!(
            "the reply has {tokens} tokens and {logprobs} log-probabilities"
        )));
    }
    Ok(Completion {
        model: reply.model,
        adapter: reply.adapter,
        prompt_token_ids: reply.prompt_token_ids,
        token_ids: sample.token_ids,
        logprobs: sample.logprobs,
        truncated: sample.finish_reason == FinishReason::Length,
        text: sample.text,
        sampling: reply.sampling,
    })
}
