//! What happens to a job that is given up: its rollout ends as failed, and its message is kept as a dead letter.

use futures::future::{BoxFuture, FutureExt};
use journeyman_bus::{Bus, GiveUp, GiveUpError, LostJob};
use journeyman_schemas::{
    event::DeadLetter,
    ids::{RolloutKey, RunId},
    reward::{EndOutcome, RolloutEnd},
};
use journeyman_store::Store;

use crate::{Ends, Metric, Metrics};

/// Ends rollouts through the store, so that every group ends.
pub(crate) struct Failing {
    pub(crate) store: Store,
    pub(crate) bus: Bus,
    pub(crate) ends: Ends,
    pub(crate) metrics: Metrics,
}

impl GiveUp for Failing {
    fn cancelled<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, bool> {
        async move {
            self.store.is_cancelled(run).await.unwrap_or_else(|error| {
                tracing::warn!(%run, error = %error, "can't tell whether {run} is cancelled, taking it as not");
                false
            })
        }
        .boxed()
    }

    fn give_up<'a>(&'a self, lost: &'a LostJob) -> BoxFuture<'a, Result<(), GiveUpError>> {
        async move {
            if let Some(key) = &lost.key {
                self.fail(key, lost).await?;
            }
            let letter = DeadLetter {
                stage: lost.stage,
                key: lost.key.clone(),
                attempt: lost.attempt,
                reason: lost.reason.clone(),
                message: lost.message.clone(),
            };
            self.bus
                .publish_dead(&letter, &lost.run)
                .await
                .map_err(|error| GiveUpError::new(error.to_string()))?;
            self.metrics.count(Metric::DeadLetters, &[lost.stage.as_str()]);
            Ok(())
        }
        .boxed()
    }
}

impl Failing {
    /// Policy and version come from the group: the message may be unreadable.
    async fn fail(&self, key: &RolloutKey, lost: &LostJob) -> Result<(), GiveUpError> {
        let failure = |error: journeyman_store::StoreError| GiveUpError::new(error.to_string());
        let Some(group) = self.store.group(&key.run, key.group).await.map_err(failure)? else {
            return Ok(());
        };
        let end = RolloutEnd {
            key: key.clone(),
            attempt: lost.attempt,
            policy: group.policy,
            policy_version: group.policy_version,
            outcome: EndOutcome::Failed {
                stage: lost.stage,
                reason: lost.reason.clone(),
            },
        };
        self.ends
            .commit_and_announce(&end, None)
            .await
            .map(drop)
            .map_err(failure)
    }
}
