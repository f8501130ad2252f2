//! One sample under way: draws tokens and knows when it is done.

use std::sync::Arc;

use journeyman_lm::{
    LanguageModel,
    cache::Sequence,
    sampling::{self, Draw, SampleError, SamplingParams},
};
use journeyman_schemas::generate::{FinishReason, GeneratedSample, Sampling};

use crate::adapters::LoadedAdapter;

/// What the samples of one question have in common.
pub(super) struct Rule {
    pub(super) adapter: Option<Arc<LoadedAdapter>>,
    params: SamplingParams,
    first_sample: u32,
    stop: Vec<Vec<u8>>,
    longest_stop: usize,
    /// Most tokens of a sample, by `max_tokens` and by the context's end.
    most: usize,
    prompt: Arc<[u32]>,
}

impl Rule {
    pub(super) fn new(
        sampling: &Sampling,
        prompt: Arc<[u32]>,
        adapter: Option<Arc<LoadedAdapter>>,
        context: usize,
    ) -> Self {
        let stop = sampling
            .stop
            .iter()
            .map(|text| text.clone().into_bytes())
            .collect::<Vec<_>>();
        Self {
            adapter,
            params: SamplingParams {
                temperature: sampling.temperature,
                top_p: sampling.top_p,
                top_k: sampling.top_k as usize,
                min_p: sampling.min_p,
                repetition_penalty: sampling.repetition_penalty,
                presence_penalty: sampling.presence_penalty,
                frequency_penalty: sampling.frequency_penalty,
                seed: sampling.seed,
                min_tokens: sampling.min_tokens as usize,
            },
            first_sample: sampling.first_sample,
            longest_stop: stop.iter().map(Vec::len).max().unwrap_or(0),
            stop,
            most: (sampling.max_tokens as usize).min(context - prompt.len()),
            prompt,
        }
    }
}

/// A sample under way.
pub(super) struct Draft {
    pub(super) rule: Arc<Rule>,
    /// Which question.
    pub(super) request: u64,
    /// Which sample of the question, from 0.
    pub(super) index: u32,
    pub(super) sequence: Sequence,
    /// Prompt, then drawn ids.
    ids: Vec<u32>,
    logprobs: Vec<f32>,
    /// What the drawn ids spell, without special tokens.
    text: Vec<u8>,
}

impl Draft {
    pub(super) fn new(rule: Arc<Rule>, request: u64, index: u32, sequence: Sequence) -> Self {
        let ids = rule.prompt.to_vec();
        Self {
            rule,
            request,
            index,
            sequence,
            ids,
            logprobs: Vec::new(),
            text: Vec::new(),
        }
    }

    /// The sequence, and the last drawn id that it does not hold yet.
    pub(super) fn next(&mut self) -> (&mut Sequence, &[u32], Option<&LoadedAdapter>) {
        let last = self.ids.len() - 1;
        (
            &mut self.sequence,
            &self.ids[last..],
            self.rule.adapter.as_deref(),
        )
    }

    /// Draws a token from `logits`, `[V]`; says why the sample ended, if it did.
    pub(super) fn draw(
        &mut self,
        lm: &LanguageModel,
        logits: &[f32],
    ) -> Result<Option<FinishReason>, SampleError> {
        let rule = self.rule.clone();
        let (prompt, generated) = self.ids.split_at(rule.prompt.len());
        let draw = Draw {
            logits,
            sampleable: lm.tokenizer.sampleable(),
            end_ids: lm.tokenizer.end_ids(),
            prompt,
            generated,
            sample_index: rule.first_sample.wrapping_add(self.index),
        };
        let drawn = sampling::sample(&draw, &rule.params)?;
        self.ids.push(drawn.id);
        self.logprobs.push(drawn.logprob);
        if lm.tokenizer.end_ids().contains(&drawn.id) {
            return Ok(Some(FinishReason::Stop));
        }
        if self.append_text(lm, drawn.id) {
            return Ok(Some(FinishReason::Stop));
        }
        Ok((self.logprobs.len() >= rule.most).then_some(FinishReason::Length))
    }

    /// Adds what `id` spells; cuts the text at a stop text and says true when there is one.
    fn append_text(&mut self, lm: &LanguageModel, id: u32) -> bool {
        if lm.tokenizer.decode(&[id]).is_empty() {
            return false;
        }
        let before = self.text.len();
        self.text.extend_from_slice(lm.tokenizer.token_bytes(id));
        let from = before.saturating_sub(self.rule.longest_stop.saturating_sub(1));
        match first_stop(&self.text[from..], &self.rule.stop) {
            Some(place) => {
                self.text.truncate(from + place);
                true
            }
            None => false,
        }
    }

    /// Tokens drawn so far.
    pub(super) fn drawn(&self) -> usize {
        self.logprobs.len()
    }

    pub(super) fn finish(self, finish_reason: FinishReason) -> GeneratedSample {
        GeneratedSample {
            token_ids: self.ids[self.rule.prompt.len()..].to_vec(),
            logprobs: self.logprobs,
            text: String::from_utf8_lossy(&self.text).into_owned(),
            finish_reason,
        }
    }
}

/// Where in `text` the first of `stops` begins.
fn first_stop(text: &[u8], stops: &[Vec<u8>]) -> Option<usize> {
    let place = |stop: &Vec<u8>| {
        text.windows(stop.len())
            .position(|window| window == stop.as_slice())
    };
    stops.iter().filter_map(place).min()
}
