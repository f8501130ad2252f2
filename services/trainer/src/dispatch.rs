//! Puts the jobs of a group on the queue.

use journeyman_bus::{Bus, job_id};
use journeyman_schemas::{
    Stage,
    envelope::Envelope,
    generate::Sampling,
    ids::{ContentHash, RolloutKey},
    job::{Generation, IdeateJob, ImplementJob, Policy, State, Work},
    run_config::RunConfig,
};
use journeyman_service::new_traceparent;
use journeyman_store::{OpenGroup, Store};

use crate::{draw, patience::Trouble};

/// A group to be dispatched.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Its number.
    pub(crate) group: u64,
    /// Rollouts in it.
    pub(crate) size: u32,
    /// What all of them are shown.
    pub(crate) state: State,
    /// Policy version that draws them.
    pub(crate) policy_version: u64,
    /// Its adapter; none for the frozen model that fills the state pool.
    pub(crate) adapter: Option<ContentHash>,
    /// Which model is asked first.
    pub(crate) policy: Policy,
    /// Whether it only fills the state pool.
    pub(crate) collect: bool,
    /// When it is void, milliseconds since the Unix epoch.
    pub(crate) deadline_ms: i64,
}

/// Opens the group in Redis and queues a job for each rollout. Doing it again changes nothing: the group exists
/// already and the jobs have the same ids.
pub(crate) async fn dispatch(
    bus: &Bus,
    store: &Store,
    config: &RunConfig,
    group: &Group,
) -> Result<(), Trouble> {
    let opened = OpenGroup {
        run: config.run.id.clone(),
        group: group.group,
        size: group.size,
        deadline_ms: group.deadline_ms,
        policy: group.policy,
        policy_version: group.policy_version,
        meta: serde_json::json!({ "state": group.state, "collect": group.collect }),
    };
    store.open_group(&opened).await?;
    for rollout in 0..group.size {
        let key = RolloutKey {
            run: config.run.id.clone(),
            group: group.group,
            rollout,
        };
        match group.policy {
            Policy::Implementer => {
                bus.enqueue(&message(
                    Stage::Implement,
                    key,
                    group,
                    implement_job(config, group, rollout),
                ))
                .await?;
            }
            Policy::Ideator => {
                bus.enqueue(&message(
                    Stage::Ideate,
                    key,
                    group,
                    ideate_job(config, group, rollout),
                ))
                .await?;
            }
        }
    }
    Ok(())
}

fn message<T>(stage: Stage, key: RolloutKey, group: &Group, body: T) -> Envelope<T> {
    let id = job_id(&key, stage, 1);
    Envelope::new(id, Some(key), 1, group.deadline_ms, new_traceparent(), body)
}

fn work(config: &RunConfig, group: &Group) -> Work {
    Work {
        task: config.run.task.clone(),
        policy: group.policy,
        policy_version: group.policy_version,
        state: group.state.clone(),
        reward: config.reward_rule(),
        completion: None,
        collect: group.collect,
    }
}

fn implement_job(config: &RunConfig, group: &Group, rollout: u32) -> ImplementJob {
    let seed = draw::sampling_seed(config.run.seed, group.group);
    ImplementJob {
        work: work(config, group),
        generation: Generation {
            model: config.model.id.clone(),
            adapter: group.adapter.clone(),
            sampling: Sampling::training(config.rollouts.max_tokens, seed, rollout),
        },
        idea: None,
        limits: config.limits(),
        instrument: config.instrument_rule(),
    }
}

fn ideate_job(config: &RunConfig, group: &Group, rollout: u32) -> IdeateJob {
    let seed = draw::sampling_seed(config.run.seed, group.group);
    let generation = |adapter, sampling| Generation {
        model: config.model.id.clone(),
        adapter,
        sampling,
    };
    IdeateJob {
        work: work(config, group),
        generation: generation(
            group.adapter.clone(),
            Sampling::training(config.ideator.max_tokens, seed, rollout),
        ),
        implement: generation(
            None,
            Sampling {
                temperature: config.ideator.implement_temperature,
                ..Sampling::training(config.rollouts.max_tokens, seed, rollout)
            },
        ),
        limits: config.limits(),
        instrument: config.instrument_rule(),
    }
}
