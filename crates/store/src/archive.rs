//! Earlier solutions: the archive (best first) and the state pool (in order of arrival). Both know the reward half only.

use journeyman_schemas::{
    ids::{RolloutKey, RunId, TaskId},
    job::Solution,
};

use crate::{
    Store, StoreError,
    connect::Call,
    group::{decode, encode, finite},
    keys::RunKeys,
};

/// Solutions kept per task, the best.
pub const ARCHIVE_LIMIT: usize = 64;
/// States kept per task, the latest.
pub const POOL_LIMIT: usize = 512;

/// A solution that comes with an end.
#[derive(Clone, Debug, PartialEq)]
pub struct ArchiveEntry {
    /// Its task.
    pub task: TaskId,
    /// The solution; it comes into the state pool, valid or not.
    pub solution: Solution,
    /// Its score with the sign turned so that higher is better; with one it comes into the archive too.
    pub gain: Option<f64>,
}

/// A solution out of the archive.
#[derive(Clone, Debug, PartialEq)]
pub struct ArchivedSolution {
    /// The solution.
    pub solution: Solution,
    /// Its score with the sign turned so that higher is better.
    pub gain: f64,
}

impl Store {
    /// The best `limit` solutions of a run, best first, each program once, at most [`ARCHIVE_LIMIT`].
    pub async fn archive(
        &self,
        run: &RunId,
        task: &TaskId,
        limit: usize,
    ) -> Result<Vec<ArchivedSolution>, StoreError> {
        let keys = RunKeys(run);
        let mut both = redis::pipe();
        both.cmd("ZRANGE")
            .arg(keys.archive(task))
            .arg(0)
            .arg(-1)
            .arg("REV")
            .arg("WITHSCORES");
        both.hgetall(keys.archive_values(task));
        let (ranking, values): (Vec<(String, f64)>, std::collections::HashMap<String, String>) =
            self.run_all(&both).await?;
        let known = ranking
            .into_iter()
            .filter_map(|(program, gain)| Some((values.get(&program)?, gain)));
        known
            .take(limit)
            .map(|(json, gain)| {
                Ok(ArchivedSolution {
                    solution: decode("solution", json)?,
                    gain,
                })
            })
            .collect()
    }

    /// The run's states in order of arrival, each program once, the latest [`POOL_LIMIT`].
    pub async fn pool(&self, run: &RunId, task: &TaskId) -> Result<Vec<Solution>, StoreError> {
        let keys = RunKeys(run);
        let mut both = redis::pipe();
        both.cmd("ZRANGE").arg(keys.pool(task)).arg(0).arg(-1);
        both.hgetall(keys.pool_values(task));
        let (order, values): (Vec<String>, std::collections::HashMap<String, String>) =
            self.run_all(&both).await?;
        order
            .iter()
            .filter_map(|program| values.get(program))
            .map(|json| decode("solution", json))
            .collect()
    }

    /// Adds a state that no rollout's end brings; a program that is there keeps its place.
    pub async fn pool_add(&self, run: &RunId, task: &TaskId, solution: &Solution) -> Result<(), StoreError> {
        let keys = RunKeys(run);
        let call = Call::new(
            "pool",
            vec![keys.pool(task), keys.pool_values(task), keys.arrivals(task)],
        )
        .arg(&solution.program)
        .arg(encode("solution", solution)?)
        .arg(POOL_LIMIT);
        self.call::<String>(&call).await.map(drop)
    }
}

/// Adds what the commit function needs for a solution.
pub(crate) fn extend_commit(
    call: Call,
    keys: &RunKeys<'_>,
    entry: &ArchiveEntry,
    key: &RolloutKey,
) -> Result<Call, StoreError> {
    finite(key, "archive.gain", entry.gain)?;
    finite(key, "archive.solution.score", entry.solution.score)?;
    let task = &entry.task;
    let own = [
        keys.archive(task),
        keys.archive_values(task),
        keys.pool(task),
        keys.pool_values(task),
        keys.arrivals(task),
    ];
    Ok(call
        .keys(own)
        .arg(&entry.solution.program)
        .arg(encode("solution", &entry.solution)?)
        .arg(entry.gain.map(|gain| gain.to_string()).unwrap_or_default())
        .arg(ARCHIVE_LIMIT)
        .arg(POOL_LIMIT))
}
