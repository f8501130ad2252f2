//! The store against a real redis-server.

mod archive;
mod blob;
mod group;
mod quota;
mod run;
mod server;

use anyhow::Result;
use journeyman_schemas::{
    Stage,
    ids::{ContentHash, RolloutKey, RunId, TaskId},
    job::{Policy, Solution},
    reward::{EndOutcome, Reward, Rewarded, RolloutEnd},
};
use journeyman_testkit::RedisServer;

use crate::{ArchiveEntry, OpenGroup, Store, StoreConfig};

async fn server_and_store() -> Result<(RedisServer, Store)> {
    let server = RedisServer::start()?;
    let store = Store::connect(&StoreConfig::new(server.url())).await?;
    Ok((server, store))
}

fn run_id() -> RunId {
    RunId::new("churn-1").expect("a good run id")
}

fn task_id() -> TaskId {
    TaskId::new("mlc-churn").expect("a good task id")
}

fn group_of(group: u64, size: u32) -> OpenGroup {
    OpenGroup {
        run: run_id(),
        group,
        size,
        deadline_ms: 1_000,
        policy: Policy::Implementer,
        policy_version: 3,
        meta: serde_json::json!({ "state": "scratch" }),
    }
}

fn end(group: u64, rollout: u32, outcome: EndOutcome) -> RolloutEnd {
    let key = RolloutKey {
        run: run_id(),
        group,
        rollout,
    };
    RolloutEnd {
        key,
        attempt: 1,
        policy: Policy::Implementer,
        policy_version: 3,
        outcome,
    }
}

fn failed(group: u64, rollout: u32) -> RolloutEnd {
    end(
        group,
        rollout,
        EndOutcome::Failed {
            stage: Stage::Execute,
            reason: "sandbox broke".into(),
        },
    )
}

fn rewarded(group: u64, rollout: u32, total: f64) -> RolloutEnd {
    let reward = Reward {
        valid: true,
        markers: 6,
        score: Some(total),
        gain: Some(total),
        place: None,
        parts: None,
        total,
        reason: None,
    };
    let rewarded = Rewarded {
        reward,
        completion: ContentHash::of(b"completion"),
        solution: None,
        verdict: None,
        not_run: None,
        wall_s: 1.5,
        cpu_s: 1.25,
        isolation: None,
    };
    end(group, rollout, EndOutcome::Rewarded(Box::new(rewarded)))
}

fn solution(program: &str, score: Option<f64>) -> Solution {
    Solution {
        program: ContentHash::of(program.as_bytes()),
        output: None,
        score,
    }
}

fn entry(program: &str, gain: Option<f64>) -> ArchiveEntry {
    ArchiveEntry {
        task: task_id(),
        solution: solution(program, gain),
        gain,
    }
}
