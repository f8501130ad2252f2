//! Every rollout ends, and who waits for its group is told.

use anyhow::Result;
use journeyman_bus::EventsFrom;
use journeyman_schemas::{
    Stage,
    event::{GroupEnded, GroupState},
    ids::RolloutKey,
    job::Policy,
    reward::{EndOutcome, RolloutEnd},
};
use journeyman_service::{Ends, InProcess, Metric, Metrics};
use journeyman_store::Commit;
use journeyman_testkit::eventually;

use crate::desk::{Desk, LONG, run_id, work};

#[tokio::test]
async fn poison_job_ends_its_rollout_and_its_group_is_told() -> Result<()> {
    let desk = Desk::open().await?;
    desk.open_group(4, 1).await?;
    let mut ended = desk
        .bus
        .subscribe_events::<GroupEnded>(Some(&run_id()), EventsFrom::Start)
        .await?;
    let service = InProcess::start("journeyman-sandbox", desk.config(), work).await?;
    desk.enqueue(4, 0, 13).await?;
    let told = tokio::time::timeout(LONG, ended.next()).await?;
    assert_eq!(
        told,
        GroupEnded {
            run: run_id(),
            group: 4,
            state: GroupState::Failed
        }
    );

    let group = desk.store.group(&run_id(), 4).await?.expect("it was opened");
    let end = group.ends[0].clone().expect("it ended");
    let EndOutcome::Failed { stage, reason } = end.outcome else {
        anyhow::bail!("{:?}", end.outcome)
    };
    assert_eq!(stage, Stage::Execute);
    assert!(reason.contains("13 can't be done"), "{reason}");
    assert_eq!((end.policy, end.policy_version), (Policy::Ideator, 7));
    let metrics = service.metrics.clone();
    eventually(LONG, || async {
        metrics.value(Metric::DeadLetters, &["execute"]) == 1.0
    })
    .await;
    assert_eq!(metrics.value(Metric::Commits, &["accepted"]), 1.0);
    assert_eq!(metrics.value(Metric::GroupsEnded, &["failed"]), 1.0);
    service.stop().await
}

#[tokio::test]
async fn job_of_a_cancelled_run_ends_without_work() -> Result<()> {
    let desk = Desk::open().await?;
    desk.open_group(0, 1).await?;
    desk.store.cancel(&run_id(), "enough").await?;
    let service = InProcess::start("journeyman-sandbox", desk.config(), work).await?;
    desk.enqueue(0, 0, 600_000).await?;
    eventually(LONG, || async {
        let group = desk.store.group(&run_id(), 0).await.ok().flatten();
        group.is_some_and(|group| group.state == GroupState::Failed)
    })
    .await;
    service.stop().await
}

#[tokio::test]
async fn group_is_announced_once_by_the_end_that_completes_it_or_by_its_deadline() -> Result<()> {
    let desk = Desk::open().await?;
    let metrics = Metrics::new("journeyman-grader", &[])?;
    let ends = Ends::new(desk.store.clone(), desk.bus.clone(), metrics.clone());
    desk.open_group(0, 2).await?;
    desk.open_group(1, 2).await?;
    for (rollout, state) in [(0, GroupState::Open), (1, GroupState::Failed)] {
        let end = failed(0, rollout);
        let accepted = ends.commit_and_announce(&end, None).await?;
        assert_eq!(accepted, Commit::Accepted { group: state });
        assert_eq!(ends.commit_and_announce(&end, None).await?, Commit::Duplicate);
    }
    assert_eq!(
        ends.commit_and_announce(&failed(9, 0), None).await?,
        Commit::Unknown
    );
    assert_eq!(
        ends.expire_and_announce(&run_id(), i64::MAX).await?,
        [(1, GroupState::Expired)]
    );
    assert_eq!(ends.expire_and_announce(&run_id(), i64::MAX).await?, []);

    let mut told = desk
        .bus
        .subscribe_events::<GroupEnded>(None, EventsFrom::Start)
        .await?;
    for (group, state) in [(0, GroupState::Failed), (1, GroupState::Expired)] {
        let next = tokio::time::timeout(LONG, told.next()).await?;
        assert_eq!(
            next,
            GroupEnded {
                run: run_id(),
                group,
                state
            }
        );
    }
    assert_eq!(metrics.value(Metric::Commits, &["duplicate"]), 2.0);
    assert_eq!(metrics.value(Metric::GroupsEnded, &["expired"]), 1.0);
    Ok(())
}

fn failed(group: u64, rollout: u32) -> RolloutEnd {
    RolloutEnd {
        key: RolloutKey {
            run: run_id(),
            group,
            rollout,
        },
        attempt: 1,
        policy: Policy::Ideator,
        policy_version: 7,
        outcome: EndOutcome::Failed {
            stage: Stage::Grade,
            reason: "no answers".into(),
        },
    }
}
