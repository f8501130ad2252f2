//! Groups and their ends: opened once, each rollout's end committed once, ended once.

use std::collections::{BTreeMap, HashMap};

use journeyman_schemas::{
    event::GroupState,
    ids::{ContentHash, RolloutKey, RunId},
    job::Policy,
    reward::{EndOutcome, RewardParts, RolloutEnd},
};

use crate::{ArchiveEntry, Store, StoreError, archive, connect::Call, keys::RunKeys};

/// Rewards that a group needs to be of use: an advantage compares at least two.
pub const LEAST_USABLE: u32 = 2;

/// A group to open.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenGroup {
    /// Its run.
    pub run: RunId,
    /// Its number in dispatch order.
    pub group: u64,
    /// Rollouts in it, at least 1.
    pub size: u32,
    /// When missing rollouts count as expired, milliseconds since the Unix epoch.
    pub deadline_ms: i64,
    /// Which model is being trained.
    pub policy: Policy,
    /// Policy version at dispatch.
    pub policy_version: u64,
    /// What the trainer wants to know of it later.
    pub meta: serde_json::Value,
}

/// Whether a group was opened by this call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// By this call.
    New,
    /// By an earlier one; it stays as it is.
    Existing,
}

/// How a commit was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// Recorded; the group's state after it.
    Accepted {
        /// [`GroupState::Open`] while rollouts are missing.
        group: GroupState,
    },
    /// The same end was recorded before.
    Duplicate,
    /// Another end was recorded before, which stays.
    Conflict,
    /// The group's deadline had ended the rollout before, which stays.
    Late,
    /// No such group, or no such rollout in it.
    Unknown,
}

impl Commit {
    /// Every word of [`Commit::as_str`].
    pub const WORDS: [&'static str; 5] = ["accepted", "duplicate", "conflict", "late", "unknown"];

    /// The word in metric labels and log fields.
    pub fn as_str(self) -> &'static str {
        match self {
            Commit::Accepted { .. } => "accepted",
            Commit::Duplicate => "duplicate",
            Commit::Conflict => "conflict",
            Commit::Late => "late",
            Commit::Unknown => "unknown",
        }
    }
}

/// A group as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRecord {
    /// Rollouts in it.
    pub size: u32,
    /// Where it stands.
    pub state: GroupState,
    /// When missing rollouts count as expired, milliseconds since the Unix epoch.
    pub deadline_ms: i64,
    /// Which model is being trained.
    pub policy: Policy,
    /// Policy version at dispatch.
    pub policy_version: u64,
    /// What the trainer wanted to know of it.
    pub meta: serde_json::Value,
    /// One entry per rollout, none while it is under way; length `size`.
    pub ends: Vec<Option<RolloutEnd>>,
}

/// How a run's commits were answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounters {
    /// Ends recorded by a commit.
    pub accepted: u64,
    /// Ends that were recorded before.
    pub duplicates: u64,
    /// Ends that differ from the one recorded.
    pub conflicts: u64,
    /// Ends that came after their group's deadline had ended the rollout.
    pub late: u64,
    /// Ends of groups or rollouts that don't exist.
    pub unknown: u64,
    /// Rollouts that were ended by their group's deadline.
    pub expired: u64,
}

impl Store {
    /// Opens a group; a group that is there stays as it is.
    pub async fn open_group(&self, group: &OpenGroup) -> Result<Opened, StoreError> {
        if group.size == 0 {
            return Err(StoreError::Invalid {
                field: "size",
                value: "0".into(),
                allowed: "at least 1",
            });
        }
        let keys = RunKeys(&group.run);
        let call = Call::new("open", vec![keys.group(group.group), keys.open()])
            .arg(group.group)
            .arg(group.size)
            .arg(LEAST_USABLE.min(group.size))
            .arg(group.deadline_ms)
            .arg(encode("policy", &group.policy)?)
            .arg(group.policy_version)
            .arg(encode("meta", &group.meta)?);
        let word: String = self.call(&call).await?;
        Ok(if word == "new" {
            Opened::New
        } else {
            Opened::Existing
        })
    }

    /// Records the end of a rollout, once. A solution comes into the archive and the pool only with an accepted end.
    ///
    /// Two ends are the same when they differ at most in `attempt`. Numbers that are not finite are refused.
    pub async fn commit_end(
        &self,
        end: &RolloutEnd,
        archive: Option<&ArchiveEntry>,
    ) -> Result<Commit, StoreError> {
        check_finite(end)?;
        let keys = RunKeys(&end.key.run);
        let group = end.key.group;
        let mut call = Call::new("commit", group_keys(&keys, group))
            .arg(group)
            .arg(end.key.rollout)
            .arg(u8::from(matches!(end.outcome, EndOutcome::Rewarded(_))))
            .arg(fingerprint(end)?)
            .arg(encode("end", end)?);
        if let Some(entry) = archive {
            call = archive::extend_commit(call, &keys, entry, &end.key)?;
        }
        let (word, state): (String, String) = self.call(&call).await?;
        Ok(match word.as_str() {
            "accepted" => Commit::Accepted {
                group: state_of(&state)?,
            },
            "duplicate" => Commit::Duplicate,
            "conflict" => Commit::Conflict,
            "late" => Commit::Late,
            _ => Commit::Unknown,
        })
    }

    /// Ends the groups whose deadline has passed: missing rollouts count as expired. Answers those that this call ended.
    pub async fn expire_due(&self, run: &RunId, now_ms: i64) -> Result<Vec<(u64, GroupState)>, StoreError> {
        let keys = RunKeys(run);
        let mut due = redis::cmd("ZRANGEBYSCORE");
        let due: Vec<u64> = self.run(due.arg(keys.open()).arg("-inf").arg(now_ms)).await?;
        let mut ended = Vec::new();
        for group in due {
            let Some(record) = self.group(run, group).await? else {
                continue;
            };
            let mut call = Call::new("expire", group_keys(&keys, group))
                .arg(group)
                .arg(now_ms);
            for rollout in 0..record.size {
                let end = RolloutEnd {
                    key: RolloutKey {
                        run: run.clone(),
                        group,
                        rollout,
                    },
                    attempt: 0,
                    policy: record.policy,
                    policy_version: record.policy_version,
                    outcome: EndOutcome::Expired,
                };
                call = call.arg(fingerprint(&end)? + &encode("end", &end)?);
            }
            let state = state_of(&self.call::<String>(&call).await?)?;
            if state != GroupState::Open {
                ended.push((group, state));
            }
        }
        Ok(ended)
    }

    /// A group as it stands; none if it was never opened.
    pub async fn group(&self, run: &RunId, group: u64) -> Result<Option<GroupRecord>, StoreError> {
        let keys = RunKeys(run);
        let mut both = redis::pipe();
        // In this order: a state that is not open is followed by all ends. A transaction is refused when Redis is full.
        both.hgetall(keys.group(group)).hgetall(keys.ends(group));
        let (fields, ends): (HashMap<String, String>, HashMap<u32, String>) = self.run_all(&both).await?;
        if fields.is_empty() {
            return Ok(None);
        }
        let field = |name: &str| fields.get(name).map_or("", String::as_str);
        let size: u32 = decode("group size", field("size"))?;
        let ends = (0..size)
            .map(|rollout| {
                ends.get(&rollout)
                    .map(|end| decode("end", end.get(FINGERPRINT..).unwrap_or("")))
                    .transpose()
            })
            .collect::<Result<_, _>>()?;
        Ok(Some(GroupRecord {
            size,
            state: state_of(field("state"))?,
            deadline_ms: decode("group deadline", field("deadline_ms"))?,
            policy: decode("group policy", field("policy"))?,
            policy_version: decode("group policy version", field("policy_version"))?,
            meta: decode("group meta", field("meta"))?,
            ends,
        }))
    }

    /// Groups with rollouts under way, earliest deadline first.
    pub async fn open_groups(&self, run: &RunId) -> Result<Vec<u64>, StoreError> {
        self.run(redis::cmd("ZRANGE").arg(RunKeys(run).open()).arg(0).arg(-1))
            .await
    }

    /// Groups that ended, with their state.
    pub async fn ended_groups(&self, run: &RunId) -> Result<BTreeMap<u64, GroupState>, StoreError> {
        let ended: BTreeMap<u64, String> = self.run(redis::cmd("HGETALL").arg(RunKeys(run).ended())).await?;
        ended
            .into_iter()
            .map(|(group, state)| Ok((group, state_of(&state)?)))
            .collect()
    }

    /// How the run's commits were answered so far.
    pub async fn counters(&self, run: &RunId) -> Result<RunCounters, StoreError> {
        let counters: HashMap<String, u64> = self
            .run(redis::cmd("HGETALL").arg(RunKeys(run).counters()))
            .await?;
        let of = |name: &str| counters.get(name).copied().unwrap_or(0);
        Ok(RunCounters {
            accepted: of("accepted"),
            duplicates: of("duplicate"),
            conflicts: of("conflict"),
            late: of("late"),
            unknown: of("unknown"),
            expired: of("expired"),
        })
    }
}

fn group_keys(keys: &RunKeys<'_>, group: u64) -> Vec<String> {
    vec![
        keys.group(group),
        keys.ends(group),
        keys.open(),
        keys.ended(),
        keys.counters(),
    ]
}

/// Length of a fingerprint, which stands before the JSON of an end.
const FINGERPRINT: usize = 64;

fn fingerprint(end: &RolloutEnd) -> Result<String, StoreError> {
    let same = RolloutEnd {
        attempt: 0,
        ..end.clone()
    };
    Ok(ContentHash::of(encode("end", &same)?.as_bytes())
        .as_str()
        .to_owned())
}

fn check_finite(end: &RolloutEnd) -> Result<(), StoreError> {
    let EndOutcome::Rewarded(rewarded) = &end.outcome else {
        return Ok(());
    };
    let reward = &rewarded.reward;
    let numbers = [
        ("reward.total", Some(reward.total)),
        ("reward.score", reward.score),
        ("reward.gain", reward.gain),
        ("reward.place", reward.place),
        ("reward.parts", reward.parts.map(RewardParts::total)),
        ("wall_s", Some(rewarded.wall_s)),
        ("cpu_s", Some(rewarded.cpu_s)),
        (
            "solution.score",
            rewarded.solution.as_ref().and_then(|solution| solution.score),
        ),
    ];
    numbers
        .into_iter()
        .try_for_each(|(field, value)| finite(&end.key, field, value))
}

/// Refuses NaN and infinities.
pub(crate) fn finite(key: &RolloutKey, field: &'static str, value: Option<f64>) -> Result<(), StoreError> {
    match value {
        Some(value) if !value.is_finite() => Err(StoreError::NotFinite {
            what: key.to_string(),
            field,
            value,
        }),
        _ => Ok(()),
    }
}

pub(crate) fn encode<T: serde::Serialize>(what: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| StoreError::Encode { what, source })
}

pub(crate) fn decode<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|source| StoreError::Decode {
        what: what.to_owned(),
        source,
    })
}

fn state_of(word: &str) -> Result<GroupState, StoreError> {
    serde_json::from_value(word.into()).map_err(|source| StoreError::Decode {
        what: format!("group state {word}"),
        source,
    })
}
