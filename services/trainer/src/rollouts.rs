//! Reads the ended groups of a step: what the policy wrote, what it earned.

use journeyman_schemas::{
    event::GroupState,
    ids::{ContentHash, RolloutKey, RunId},
    job::{Completion, State},
    reward::{EndOutcome, Reward, Rewarded},
};
use journeyman_store::{GroupRecord, Store, StoreError};

/// A group that can be trained on.
#[derive(Clone, Debug)]
pub(crate) struct EndedGroup {
    /// Its number.
    pub(crate) group: u64,
    /// Policy version that drew it.
    pub(crate) policy_version: u64,
    /// Whether it was asked to improve an earlier solution.
    pub(crate) improve: bool,
    /// The prompt that all its rollouts share.
    pub(crate) prompt: Vec<u32>,
    /// Rollouts with a reward, in order.
    pub(crate) rollouts: Vec<EndedRollout>,
    /// Rollouts without one.
    pub(crate) lost: u64,
}

/// A rollout with its reward.
#[derive(Clone, Debug)]
pub(crate) struct EndedRollout {
    /// Drawn ids.
    pub(crate) token_ids: Vec<u32>,
    /// The sampler's log-probability of each.
    pub(crate) logprobs: Vec<f32>,
    /// Whether the length limit cut it.
    pub(crate) truncated: bool,
    /// The reward.
    pub(crate) reward: Reward,
    /// Execution time, wall-clock seconds.
    pub(crate) wall_s: f64,
}

/// Why a group can't be trained on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RolloutError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A completion was drawn by other weights than the group was dispatched for.
    #[error("rollout {key} was drawn by adapter `{got}`, but policy version {version} is `{want}`: refused")]
    OtherAdapter {
        /// Which rollout.
        key: RolloutKey,
        /// Policy version at dispatch.
        version: u64,
        /// Its adapter.
        want: ContentHash,
        /// The adapter stamped on the completion.
        got: String,
    },
    /// Rollouts of one group were shown different prompts.
    #[error("rollout {key} was shown another prompt than the rest of its group: refused")]
    OtherPrompt {
        /// Which rollout.
        key: RolloutKey,
    },
    /// A completion's fields don't fit together.
    #[error("rollout {key} has {tokens} tokens, but {logprobs} log-probabilities: refused")]
    Lengths {
        /// Which rollout.
        key: RolloutKey,
        /// Drawn ids.
        tokens: usize,
        /// Log-probabilities.
        logprobs: usize,
    },
}

/// Whether a group can be trained on: complete, or partial with enough rewards.
pub(crate) fn usable(record: &GroupRecord, min_usable: u32) -> bool {
    let rewarded = rewarded(record).count();
    matches!(record.state, GroupState::Complete | GroupState::Partial) && rewarded >= min_usable as usize
}

/// The rewarded rollouts of a record with their numbers.
pub(crate) fn rewarded(record: &GroupRecord) -> impl Iterator<Item = (u32, &Rewarded)> {
    record.ends.iter().flatten().filter_map(|end| match &end.outcome {
        EndOutcome::Rewarded(rewarded) => Some((end.key.rollout, rewarded.as_ref())),
        EndOutcome::Failed { .. } | EndOutcome::Expired => None,
    })
}

/// Reads the completions of a group. `adapter` is the adapter of the policy version at its dispatch: a completion
/// that was drawn by another is refused, so that no gradient is ever taken through the wrong weights.
pub(crate) async fn read(
    store: &Store,
    run: &RunId,
    group: u64,
    record: &GroupRecord,
    adapter: &ContentHash,
) -> Result<EndedGroup, RolloutError> {
    let improve = record.meta.get("state").is_some_and(|state| {
        serde_json::from_value::<State>(state.clone()).is_ok_and(|state| state != State::Scratch)
    });
    let mut ended = EndedGroup {
        group,
        policy_version: record.policy_version,
        improve,
        prompt: Vec::new(),
        rollouts: Vec::new(),
        lost: 0,
    };
    for (rollout, rewarded) in rewarded(record) {
        let completion: Completion = store.get_json(&rewarded.completion).await?;
        let key = RolloutKey {
            run: run.clone(),
            group,
            rollout,
        };
        if completion.adapter.as_ref() != Some(adapter) {
            let got = completion
                .adapter
                .map_or("none".to_owned(), |hash| hash.to_string());
            return Err(RolloutError::OtherAdapter {
                key,
                version: record.policy_version,
                want: adapter.clone(),
                got,
            });
        }
        if completion.token_ids.len() != completion.logprobs.len() {
            let (tokens, logprobs) = (completion.token_ids.len(), completion.logprobs.len());
            return Err(RolloutError::Lengths {
                key,
                tokens,
                logprobs,
            });
        }
        if ended.rollouts.is_empty() {
            ended.prompt = completion.prompt_token_ids;
        } else if ended.prompt != completion.prompt_token_ids {
            return Err(RolloutError::OtherPrompt { key });
        }
        ended.rollouts.push(EndedRollout {
            token_ids: completion.token_ids,
            logprobs: completion.logprobs,
            truncated: completion.truncated,
            reward: rewarded.reward.clone(),
            wall_s: rewarded.wall_s,
        });
    }
    ended.lost = u64::from(record.size) - ended.rollouts.len() as u64;
    Ok(ended)
}
