//! The end of a rollout, for whoever brings it: committed in Redis, and told when it ends its group.

use journeyman_bus::Bus;
use journeyman_schemas::{
    event::{GroupEnded, GroupState},
    ids::RunId,
    reward::RolloutEnd,
};
use journeyman_store::{ArchiveEntry, Commit, Store, StoreError};

use crate::{Metric, Metrics};

/// Commits ends and announces ended groups.
#[derive(Clone)]
pub struct Ends {
    store: Store,
    bus: Bus,
    metrics: Metrics,
}

impl Ends {
    /// Over the service's own store and bus.
    pub fn new(store: Store, bus: Bus, metrics: Metrics) -> Self {
        Self { store, bus, metrics }
    }

    /// Commits an end, and announces its group if this was the last one missing.
    pub async fn commit_and_announce(
        &self,
        end: &RolloutEnd,
        archive: Option<&ArchiveEntry>,
    ) -> Result<Commit, StoreError> {
        let commit = self.store.commit_end(end, archive).await?;
        self.metrics.count(Metric::Commits, &[commit.as_str()]);
        match commit {
            Commit::Accepted { group } if group != GroupState::Open => {
                self.announce(&end.key.run, end.key.group, group).await;
            }
            Commit::Accepted { .. } | Commit::Duplicate => {}
            Commit::Conflict => {
                tracing::warn!(rollout = %end.key, attempt = end.attempt, "another end of {} was recorded before", end.key);
            }
            Commit::Late => {
                tracing::warn!(rollout = %end.key, attempt = end.attempt, "the deadline of {} had passed before", end.key);
            }
            Commit::Unknown => {
                tracing::warn!(rollout = %end.key, attempt = end.attempt, "no group waits for {}", end.key);
            }
        }
        Ok(commit)
    }

    /// Ends and announces the groups of `run` whose deadline has passed.
    pub async fn expire_and_announce(
        &self,
        run: &RunId,
        now_ms: i64,
    ) -> Result<Vec<(u64, GroupState)>, StoreError> {
        let ended = self.store.expire_due(run, now_ms).await?;
        for (group, state) in &ended {
            tracing::warn!(%run, group, state = state.as_str(), "deadline of group {run}/{group} has passed");
            self.announce(run, *group, *state).await;
        }
        Ok(ended)
    }

    /// A lost announcement does no harm: who waits for a group also looks into Redis.
    async fn announce(&self, run: &RunId, group: u64, state: GroupState) {
        self.metrics.count(Metric::GroupsEnded, &[state.as_str()]);
        let id = format!("{run}/{group}/{}", state.as_str());
        if let Err(error) = self
            .bus
            .publish(
                &id,
                &GroupEnded {
                    run: run.clone(),
                    group,
                    state,
                },
            )
            .await
        {
            tracing::warn!(%run, group, error = %error, "end of group {run}/{group} could not be announced");
        }
    }
}
