//! Runs and services say where they stand.

use std::collections::BTreeMap;

use anyhow::Result;
use journeyman_schemas::{
    event::GroupState,
    ids::RunId,
    run::{RunPhase, RunProgress},
};

use super::{group_of, rewarded, run_id, server_and_store, task_id};
use crate::{ServiceStatus, keys};

fn progress(run: RunId, updated_ms: i64) -> RunProgress {
    RunProgress {
        run,
        task: task_id(),
        phase: RunPhase::Rollouts,
        step: 2,
        steps: 6,
        groups_done: 1,
        groups: 2,
        rollouts_done: 11,
        rollouts: 16,
        last: None,
        directory: "runs/churn-1".into(),
        updated_ms,
    }
}

#[tokio::test]
async fn progress_comes_back_and_runs_are_listed_latest_first() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    assert_eq!(store.progress(&run_id()).await?, None);
    let other = RunId::new("other")?;
    store.set_progress(&progress(other.clone(), 5)).await?;
    store.set_progress(&progress(run_id(), 9)).await?;
    assert_eq!(store.progress(&run_id()).await?, Some(progress(run_id(), 9)));
    assert_eq!(store.runs().await?, [run_id(), other]);
    Ok(())
}

#[tokio::test]
async fn cancelled_run_stays_cancelled_until_it_is_taken_up_again() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    assert!(!store.is_cancelled(&run_id()).await?);
    store.cancel(&run_id(), "enough").await?;
    assert!(store.is_cancelled(&run_id()).await?);
    store.clear_cancel(&run_id()).await?;
    assert!(!store.is_cancelled(&run_id()).await?);
    Ok(())
}

#[tokio::test]
async fn consumed_groups_are_remembered_with_their_step() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    store.open_group(&group_of(0, 1)).await?;
    store.commit_end(&rewarded(0, 0, 0.5), None).await?;
    store.mark_consumed(&run_id(), 1, &[]).await?;
    store.mark_consumed(&run_id(), 1, &[0]).await?;
    store.mark_consumed(&run_id(), 1, &[0]).await?;
    store.mark_consumed(&run_id(), 2, &[1, 2]).await?;
    assert_eq!(
        store.consumed(&run_id()).await?,
        BTreeMap::from([(0, 1), (1, 2), (2, 2)])
    );
    let record = store.group(&run_id(), 0).await?.expect("it is kept for a while");
    assert_eq!(record.state, GroupState::Complete);
    let life_s: i64 = store
        .run(redis::cmd("TTL").arg(keys::RunKeys(&run_id()).ends(0)))
        .await?;
    assert!(life_s > 0, "{life_s}");
    Ok(())
}

#[tokio::test]
async fn services_are_shown_while_their_sign_of_life_counts() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    let status = |instance: &str| ServiceStatus {
        service: "journeyman-grader".into(),
        instance: instance.into(),
        busy: 2,
        numbers: BTreeMap::from([("tokens_per_second".into(), 41.5)]),
        ..ServiceStatus::default()
    };
    assert_eq!(store.services().await?, []);
    for instance in ["b", "a"] {
        store
            .heartbeat("journeyman-grader", instance, &status(instance))
            .await?;
    }
    assert_eq!(store.services().await?, [status("a"), status("b")]);
    let life_s: i64 = store
        .run(redis::cmd("TTL").arg("jm:service:journeyman-grader/a"))
        .await?;
    assert!((1..=15).contains(&life_s), "{life_s}");
    let () = store
        .run(redis::cmd("DEL").arg("jm:service:journeyman-grader/a"))
        .await?;
    assert_eq!(store.services().await?, [status("b")]);
    Ok(())
}
