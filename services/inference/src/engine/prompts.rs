//! Prompts under way and prompts kept: equal prompts of one adapter are forwarded once.
//!
//! A prompt is filled in chunks; when it is full, its sequence is forked for every sample. Afterwards it stays for
//! late siblings (the G jobs of a group arrive one by one) until newer prompts push it out.

use std::sync::Arc;

use journeyman_lm::{
    LanguageModel,
    cache::Sequence,
    model::{Logits, Row, Wanted},
};
use journeyman_schemas::ids::ContentHash;

use crate::adapters::LoadedAdapter;

/// Names a prompt for as long as somebody wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PromptId(u64);

/// Every prompt, oldest use first.
pub(super) struct Prompts {
    prompts: Vec<Prompt>,
    tokens_kept: usize,
    next: u64,
}

pub(super) struct Prompt {
    id: PromptId,
    ids: Arc<[u32]>,
    adapter_hash: Option<ContentHash>,
    /// Only until the prompt is full, so that a kept prompt does not hold old weights.
    adapter: Option<Arc<LoadedAdapter>>,
    sequence: Sequence,
    /// Of the last token, once the prompt is full: `[V]`.
    logits: Option<Arc<Logits>>,
    forked: bool,
}

/// A copy of a filled prompt for one sample.
pub(super) struct Fork {
    pub(super) sequence: Sequence,
    /// Of the prompt's last token: `[V]`.
    pub(super) logits: Arc<Logits>,
    /// Another sample had the same prompt before.
    pub(super) reused: bool,
}

impl Prompt {
    /// A copy for one sample; none while the prompt is being filled.
    pub(super) fn fork(&mut self) -> Option<Fork> {
        let logits = self.logits.clone()?;
        let reused = std::mem::replace(&mut self.forked, true);
        Some(Fork {
            sequence: self.sequence.fork(),
            logits,
            reused,
        })
    }
}

impl Prompts {
    /// Keeps up to `tokens_kept` tokens of prompts that nobody wants now.
    pub(super) fn new(tokens_kept: usize) -> Self {
        Self {
            prompts: Vec::new(),
            tokens_kept,
            next: 0,
        }
    }

    /// The prompt equal to `ids` under `adapter`, a new one if there is none.
    pub(super) fn join(
        &mut self,
        lm: &LanguageModel,
        ids: &Arc<[u32]>,
        adapter: Option<&Arc<LoadedAdapter>>,
    ) -> PromptId {
        let hash = adapter.map(|adapter| &adapter.hash);
        let equal = |prompt: &Prompt| prompt.adapter_hash.as_ref() == hash && prompt.ids == *ids;
        if let Some(place) = self.prompts.iter().position(equal) {
            let prompt = self.prompts.remove(place);
            let id = prompt.id;
            self.prompts.push(prompt);
            return id;
        }
        let id = PromptId(self.next);
        self.next += 1;
        self.prompts.push(Prompt {
            id,
            ids: ids.clone(),
            adapter_hash: hash.cloned(),
            adapter: adapter.cloned(),
            sequence: lm.model.sequence(),
            logits: None,
            forked: false,
        });
        id
    }

    pub(super) fn get(&mut self, id: PromptId) -> Option<&mut Prompt> {
        self.prompts.iter_mut().find(|prompt| prompt.id == id)
    }

    /// Forgets unfilled prompts that nobody wants and, oldest first, full ones beyond the limit.
    pub(super) fn tidy(&mut self, wanted: impl Fn(PromptId) -> bool) {
        self.prompts
            .retain(|prompt| prompt.logits.is_some() || wanted(prompt.id));
        let mut kept = self.prompts.iter().map(|prompt| prompt.ids.len()).sum::<usize>();
        let limit = self.tokens_kept;
        self.prompts.retain(|prompt| {
            let stays = kept <= limit || wanted(prompt.id);
            if !stays {
                kept -= prompt.ids.len();
            }
            stays
        });
    }

    /// Tokens in all sequences.
    pub(super) fn tokens(&self) -> usize {
        self.prompts.iter().map(|prompt| prompt.sequence.len()).sum()
    }

    pub(super) fn clear(&mut self) {
        self.prompts.clear();
    }

    /// Adds the next chunks, in order of arrival, of up to `budget` tokens in all, to `rows`.
    pub(super) fn chunks<'a>(
        &'a mut self,
        mut budget: usize,
        rows: &mut Vec<Row<'a>>,
    ) -> Vec<(PromptId, usize)> {
        let mut taken = Vec::new();
        let mut unfilled = self
            .prompts
            .iter_mut()
            .filter(|prompt| prompt.logits.is_none())
            .collect::<Vec<_>>();
        unfilled.sort_by_key(|prompt| prompt.id.0);
        for prompt in unfilled {
            let done = prompt.sequence.len();
            let length = budget.min(prompt.ids.len() - done);
            if length == 0 {
                break;
            }
            budget -= length;
            let last = done + length == prompt.ids.len();
            taken.push((prompt.id, length));
            rows.push(Row {
                sequence: &mut prompt.sequence,
                tokens: &prompt.ids[done..done + length],
                adapter: prompt.adapter.as_deref().map(|loaded| &loaded.adapter),
                logits: if last { Wanted::Last } else { Wanted::None },
            });
        }
        taken
    }

    /// Takes the logits of the chunk that `chunks` gave for `id`.
    pub(super) fn chunk_done(&mut self, id: PromptId, logits: Logits) {
        if let Some(prompt) = self.get(id)
            && logits.rows > 0
        {
            prompt.logits = Some(Arc::new(logits));
            prompt.adapter = None;
        }
    }
}
