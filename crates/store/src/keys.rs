//! Every Redis key, and the only place where one is spelled. Keys of a run share a hash tag, so one slot holds them.

use journeyman_schemas::ids::{ContentHash, RunId, TaskId};

/// Run ids in order of their last sign of life.
pub(crate) const RUNS: &str = "jm:runs";
/// `service/instance` in order of their last sign of life.
pub(crate) const SERVICES: &str = "jm:services";

pub(crate) fn blob(hash: &ContentHash) -> String {
    format!("jm:blob:{hash}")
}

pub(crate) fn service(member: &str) -> String {
    format!("jm:service:{member}")
}

pub(crate) fn questions(asker: &str, window: i64) -> String {
    format!("jm:questions:{asker}:{window}")
}

/// The keys of one run.
pub(crate) struct RunKeys<'a>(pub(crate) &'a RunId);

impl RunKeys<'_> {
    fn key(&self, rest: impl std::fmt::Display) -> String {
        format!("jm:{{{}}}:{rest}", self.0)
    }

    /// Hash: size, usable, deadline_ms, policy, policy_version, meta, state, rewarded.
    pub(crate) fn group(&self, group: u64) -> String {
        self.key(format_args!("group:{group}"))
    }

    /// Hash: rollout number → fingerprint and JSON of its end.
    pub(crate) fn ends(&self, group: u64) -> String {
        self.key(format_args!("ends:{group}"))
    }

    /// Sorted set: open groups by deadline.
    pub(crate) fn open(&self) -> String {
        self.key("open")
    }

    /// Hash: ended group → state.
    pub(crate) fn ended(&self) -> String {
        self.key("ended")
    }

    /// Hash: how commits were answered.
    pub(crate) fn counters(&self) -> String {
        self.key("counters")
    }

    /// Sorted set: programs by gain.
    pub(crate) fn archive(&self, task: &TaskId) -> String {
        self.key(format_args!("archive:{task}"))
    }

    /// Hash: program → solution.
    pub(crate) fn archive_values(&self, task: &TaskId) -> String {
        self.key(format_args!("archive-values:{task}"))
    }

    /// Sorted set: programs by order of arrival.
    pub(crate) fn pool(&self, task: &TaskId) -> String {
        self.key(format_args!("pool:{task}"))
    }

    /// Hash: program → solution.
    pub(crate) fn pool_values(&self, task: &TaskId) -> String {
        self.key(format_args!("pool-values:{task}"))
    }

    /// Number: arrivals so far.
    pub(crate) fn arrivals(&self, task: &TaskId) -> String {
        self.key(format_args!("arrivals:{task}"))
    }

    /// Hash: `group/rollout` → score on the report half.
    pub(crate) fn report(&self) -> String {
        self.key("report")
    }

    /// String: why the run was cancelled.
    pub(crate) fn cancelled(&self) -> String {
        self.key("cancelled")
    }

    /// String: the run's progress.
    pub(crate) fn progress(&self) -> String {
        self.key("progress")
    }

    /// Hash: consumed group → step.
    pub(crate) fn consumed(&self) -> String {
        self.key("consumed")
    }
}
