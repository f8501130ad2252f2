//! Which tokens go into the next forward pass.

use std::{sync::Arc, time::Instant};

use journeyman_lm::{
    LanguageModel,
    model::{Logits, Row, Wanted},
    sampling::SampleError,
};
use journeyman_schemas::{
    fault::{Fault, FaultCode},
    generate::{FinishReason, GeneratedSample},
};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use tokio::sync::oneshot;

use super::{
    StepReport,
    prompts::{PromptId, Prompts},
    queue::{Pending, deadline_exceeded},
    row::{Draft, Rule},
};
use crate::config::EngineConfig;

/// Questions under way, their rows and prompts.
pub(super) struct Scheduler {
    lm: Arc<LanguageModel>,
    max_rows: usize,
    max_tokens_per_step: usize,
    requests: Vec<Request>,
    drafts: Vec<Draft>,
    prompts: Prompts,
    next: u64,
}

/// A question under way.
struct Request {
    id: u64,
    rule: Arc<Rule>,
    prompt: PromptId,
    deadline: Instant,
    /// Samples that have a row or are done.
    started: usize,
    samples: Vec<Option<GeneratedSample>>,
    reply: oneshot::Sender<Result<Vec<GeneratedSample>, Fault>>,
}

impl Request {
    fn unstarted(&self) -> usize {
        self.samples.len() - self.started
    }
}

impl Scheduler {
    pub(super) fn new(lm: Arc<LanguageModel>, config: &EngineConfig) -> Self {
        Self {
            lm,
            max_rows: config.max_rows,
            max_tokens_per_step: config.max_tokens_per_step,
            requests: Vec::new(),
            drafts: Vec::new(),
            prompts: Prompts::new(config.prompt_tokens_kept),
            next: 0,
        }
    }

    /// Nothing to do until a question comes.
    pub(super) fn idle(&self) -> bool {
        self.requests.is_empty()
    }

    /// Rows decoding.
    pub(super) fn rows(&self) -> usize {
        self.drafts.len()
    }

    /// Tokens in the key-value cache; a prompt counts once, however many samples share it.
    pub(super) fn cached(&self) -> usize {
        self.prompts.tokens() + self.drafts.iter().map(Draft::drawn).sum::<usize>()
    }

    /// Samples that could get a row beyond those that wait for one.
    pub(super) fn room(&self) -> usize {
        let promised = self.requests.iter().map(Request::unstarted).sum::<usize>();
        self.max_rows.saturating_sub(self.drafts.len() + promised)
    }

    /// Takes a question on.
    pub(super) fn admit(&mut self, pending: Pending) {
        let Pending { question, reply } = pending;
        let prompt = self
            .prompts
            .join(&self.lm, &question.prompt, question.adapter.as_ref());
        let context = self.lm.config.context_length;
        self.requests.push(Request {
            id: self.next,
            rule: Arc::new(Rule::new(
                &question.sampling,
                question.prompt,
                question.adapter,
                context,
            )),
            prompt,
            deadline: question.deadline,
            started: 0,
            samples: vec![None; question.n as usize],
            reply,
        });
        self.next += 1;
    }

    /// Frees what nobody waits for, starts samples of filled prompts, and forwards one token of every row and as many
    /// prompt tokens as the budget allows.
    pub(super) fn step(&mut self, now: Instant) -> StepReport {
        let mut report = StepReport::default();
        self.drop_gone(now);
        self.start_samples(&mut report);
        let requests = &self.requests;
        self.prompts.tidy(|id| {
            requests
                .iter()
                .any(|request| request.prompt == id && request.unstarted() > 0)
        });
        self.forward(&mut report);
        report
    }

    /// Fails every question under way and forgets every prompt.
    pub(super) fn fail_all(&mut self, reason: &str) {
        self.drafts.clear();
        self.prompts.clear();
        for request in self.requests.drain(..) {
            // The asker may have gone.
            drop(request.reply.send(Err(Fault::new(FaultCode::Internal, reason))));
        }
    }

    fn drop_gone(&mut self, now: Instant) {
        let gone = |request: &Request| request.reply.is_closed() || request.deadline <= now;
        let gone = self
            .requests
            .iter()
            .filter(|request| gone(request))
            .map(|request| request.id)
            .collect::<Vec<_>>();
        for id in gone {
            self.fail(id, deadline_exceeded("while the samples were drawn"));
        }
    }

    /// Gives rows to samples whose prompt is filled, in order of admission, and draws their first token.
    fn start_samples(&mut self, report: &mut StepReport) {
        let mut ends = Vec::new();
        for request in &mut self.requests {
            let Some(prompt) = self.prompts.get(request.prompt) else {
                continue;
            };
            while request.unstarted() > 0 && self.drafts.len() < self.max_rows {
                let Some(fork) = prompt.fork() else { break };
                report.generated += 1;
                report.reused += if fork.reused { fork.sequence.len() } else { 0 };
                let index = request.started as u32;
                let mut draft = Draft::new(request.rule.clone(), request.id, index, fork.sequence);
                request.started += 1;
                match draft.draw(&self.lm, &fork.logits.data) {
                    Ok(None) => self.drafts.push(draft),
                    end => ends.push((draft, end)),
                }
            }
        }
        ends.into_iter().for_each(|(draft, end)| self.end(draft, end));
    }

    fn forward(&mut self, report: &mut StepReport) {
        let mut rows = Vec::with_capacity(self.drafts.len() + 1);
        for draft in &mut self.drafts {
            let (sequence, tokens, adapter) = draft.next();
            let adapter = adapter.map(|loaded| &loaded.adapter);
            rows.push(Row {
                sequence,
                tokens,
                adapter,
                logits: Wanted::Last,
            });
        }
        // At least one prompt token per step, or prompts would starve behind a full batch.
        let budget = self.max_tokens_per_step.saturating_sub(rows.len()).max(1);
        let chunks = self.prompts.chunks(budget, &mut rows);
        if rows.is_empty() {
            return;
        }
        let logits = match self.lm.model.forward(&mut rows) {
            Ok(logits) => logits,
            Err(error) => {
                tracing::error!(%error, "the forward pass failed; every request under way fails");
                self.fail_all(&format!("the forward pass failed: {error}"));
                return;
            }
        };
        let (decoded, filled) = split(logits, self.drafts.len());
        for ((id, length), logits) in chunks.into_iter().zip(filled) {
            report.prefilled += length;
            self.prompts.chunk_done(id, logits);
        }
        report.generated += decoded.len();
        self.draw(decoded);
    }

    /// Draws one token of every row.
    fn draw(&mut self, logits: Vec<Logits>) {
        let lm = &self.lm;
        let ends = self
            .drafts
            .par_iter_mut()
            .zip(logits)
            .map(|(draft, logits)| draft.draw(lm, &logits.data))
            .collect::<Vec<_>>();
        let mut going = Vec::with_capacity(self.drafts.len());
        let mut ended = Vec::new();
        for (draft, end) in std::mem::take(&mut self.drafts).into_iter().zip(ends) {
            match end {
                Ok(None) => going.push(draft),
                end => ended.push((draft, end)),
            }
        }
        self.drafts = going;
        ended.into_iter().for_each(|(draft, end)| self.end(draft, end));
    }

    /// Books the end of a sample; answers when it was the question's last.
    fn end(&mut self, draft: Draft, end: Result<Option<FinishReason>, SampleError>) {
        let id = draft.request;
        let Some(place) = self.requests.iter().position(|request| request.id == id) else {
            return;
        };
        match end {
            Ok(None) => self.drafts.push(draft),
            Ok(Some(reason)) => {
                let request = &mut self.requests[place];
                let index = draft.index as usize;
                request.samples[index] = Some(draft.finish(reason));
                if request.samples.iter().all(Option::is_some) {
                    let request = self.requests.remove(place);
                    // The asker may have gone.
                    drop(
                        request
                            .reply
                            .send(Ok(request.samples.into_iter().flatten().collect())),
                    );
                }
            }
            Err(error) => {
                let place = format!("sample `{}`, position `{}`", draft.index, draft.drawn());
                self.fail(id, Fault::new(FaultCode::Internal, format!("{place}: {error}")));
            }
        }
    }

    /// Answers with `fault` and frees the question's rows.
    fn fail(&mut self, id: u64, fault: Fault) {
        self.drafts.retain(|draft| draft.request != id);
        if let Some(place) = self.requests.iter().position(|request| request.id == id) {
            // The asker may have gone.
            drop(self.requests.remove(place).reply.send(Err(fault)));
        }
    }
}

/// The first `rows` matrices, and the rest.
fn split(mut logits: Vec<Logits>, rows: usize) -> (Vec<Logits>, Vec<Logits>) {
    let rest = logits.split_off(rows.min(logits.len()));
    (logits, rest)
}
