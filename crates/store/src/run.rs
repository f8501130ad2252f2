//! Runs: progress, cancelling, groups consumed, scores for the report.

use std::collections::BTreeMap;

use journeyman_schemas::{
    ids::{RolloutKey, RunId},
    run::RunProgress,
};

use crate::{
    Store, StoreError,
    group::{decode, encode, finite},
    keys::{self, RunKeys},
};

/// Groups that were trained on are kept this long: 7 days.
const CONSUMED_LIFE_S: u64 = 7 * 24 * 3600;

impl Store {
    /// Keeps a rollout's score on the report half, apart from all that the policy or the trainer is shown.
    pub async fn put_report(&self, key: &RolloutKey, score: f64) -> Result<(), StoreError> {
        finite(key, "report score", Some(score))?;
        let field = format!("{}/{}", key.group, key.rollout);
        self.run(
            redis::cmd("HSET")
                .arg(RunKeys(&key.run).report())
                .arg(field)
                .arg(score.to_string()),
        )
        .await
    }

    /// Scores on the report half, in order of dispatch. Only for final reports.
    pub async fn report(&self, run: &RunId) -> Result<Vec<(RolloutKey, f64)>, StoreError> {
        let fields: BTreeMap<String, f64> =
            self.run(redis::cmd("HGETALL").arg(RunKeys(run).report())).await?;
        let mut report: Vec<(RolloutKey, f64)> = fields
            .iter()
            .filter_map(|(field, score)| {
                let (group, rollout) = field.split_once('/')?;
                let key = RolloutKey {
                    run: run.clone(),
                    group: group.parse().ok()?,
                    rollout: rollout.parse().ok()?,
                };
                Some((key, *score))
            })
            .collect();
        report.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(report)
    }

    /// Marks a run as cancelled, for those who missed the message.
    pub async fn cancel(&self, run: &RunId, reason: &str) -> Result<(), StoreError> {
        self.run(redis::cmd("SET").arg(RunKeys(run).cancelled()).arg(reason))
            .await
    }

    /// Takes the mark away, for a run that is taken up again.
    pub async fn clear_cancel(&self, run: &RunId) -> Result<(), StoreError> {
        self.run(redis::cmd("DEL").arg(RunKeys(run).cancelled())).await
    }

    /// Whether a run was cancelled.
    pub async fn is_cancelled(&self, run: &RunId) -> Result<bool, StoreError> {
        self.run(redis::cmd("EXISTS").arg(RunKeys(run).cancelled())).await
    }

    /// Writes where a run stands.
    pub async fn set_progress(&self, progress: &RunProgress) -> Result<(), StoreError> {
        let json = encode("progress", progress)?;
        let mut both = redis::pipe();
        both.cmd("SET")
            .arg(RunKeys(&progress.run).progress())
            .arg(json)
            .ignore();
        both.cmd("ZADD")
            .arg(keys::RUNS)
            .arg(progress.updated_ms)
            .arg(progress.run.as_str())
            .ignore();
        self.run_all(&both).await
    }

    /// Where a run stands; none if it never said.
    pub async fn progress(&self, run: &RunId) -> Result<Option<RunProgress>, StoreError> {
        let json: Option<String> = self.run(redis::cmd("GET").arg(RunKeys(run).progress())).await?;
        json.map(|json| decode("progress", &json)).transpose()
    }

    /// Runs that ever said where they stand, latest first.
    pub async fn runs(&self) -> Result<Vec<RunId>, StoreError> {
        let runs: Vec<String> = self
            .run(redis::cmd("ZRANGE").arg(keys::RUNS).arg(0).arg(-1).arg("REV"))
            .await?;
        Ok(runs.into_iter().filter_map(|run| RunId::new(run).ok()).collect())
    }

    /// Marks groups as trained on in `step`; they are kept for 7 days more.
    pub async fn mark_consumed(&self, run: &RunId, step: u64, groups: &[u64]) -> Result<(), StoreError> {
        let keys = RunKeys(run);
        let mut all = redis::pipe();
        all.atomic();
        for group in groups {
            all.cmd("HSET").arg(keys.consumed()).arg(group).arg(step).ignore();
            all.cmd("EXPIRE")
                .arg(keys.group(*group))
                .arg(CONSUMED_LIFE_S)
                .ignore();
            all.cmd("EXPIRE")
                .arg(keys.ends(*group))
                .arg(CONSUMED_LIFE_S)
                .ignore();
        }
        if groups.is_empty() {
            return Ok(());
        }
        self.run_all(&all).await
    }

    /// Groups that were trained on, with their step.
    pub async fn consumed(&self, run: &RunId) -> Result<BTreeMap<u64, u64>, StoreError> {
        self.run(redis::cmd("HGETALL").arg(RunKeys(run).consumed())).await
    }
}
