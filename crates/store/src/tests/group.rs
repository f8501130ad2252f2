//! Groups: every end once, every group to its end.

use anyhow::{Result, ensure};
use journeyman_schemas::{
    event::GroupState,
    reward::{EndOutcome, RolloutEnd},
};

use super::{failed, group_of, rewarded, run_id, server_and_store};
use crate::{Commit, Opened, RunCounters, Store, StoreConfig, StoreError};

#[tokio::test]
async fn commit_of_each_kind_is_told_apart_and_counted() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    assert_eq!(store.open_group(&group_of(0, 2)).await?, Opened::New);
    assert_eq!(store.open_group(&group_of(0, 9)).await?, Opened::Existing);

    let open = Commit::Accepted {
        group: GroupState::Open,
    };
    assert_eq!(store.commit_end(&rewarded(0, 0, 0.5), None).await?, open);
    assert_eq!(
        store.commit_end(&rewarded(0, 0, 0.5), None).await?,
        Commit::Duplicate
    );
    let redelivered = RolloutEnd {
        attempt: 4,
        ..rewarded(0, 0, 0.5)
    };
    assert_eq!(store.commit_end(&redelivered, None).await?, Commit::Duplicate);
    assert_eq!(
        store.commit_end(&rewarded(0, 0, 0.75), None).await?,
        Commit::Conflict
    );
    assert_eq!(store.commit_end(&failed(0, 0), None).await?, Commit::Conflict);
    assert_eq!(
        store.commit_end(&rewarded(7, 0, 0.5), None).await?,
        Commit::Unknown
    );
    assert_eq!(
        store.commit_end(&rewarded(0, 2, 0.5), None).await?,
        Commit::Unknown
    );
    let complete = Commit::Accepted {
        group: GroupState::Complete,
    };
    assert_eq!(store.commit_end(&rewarded(0, 1, 0.25), None).await?, complete);
    assert_eq!(
        store.commit_end(&rewarded(0, 1, 0.25), None).await?,
        Commit::Duplicate
    );

    let counters = RunCounters {
        accepted: 2,
        duplicates: 3,
        conflicts: 2,
        late: 0,
        unknown: 2,
        expired: 0,
    };
    assert_eq!(store.counters(&run_id()).await?, counters);
    Ok(())
}

#[tokio::test]
async fn group_record_gives_back_what_went_in() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    assert_eq!(store.group(&run_id(), 5).await?, None);
    store.open_group(&group_of(5, 3)).await?;
    store.commit_end(&rewarded(5, 1, 0.1 + 0.2), None).await?;
    let record = store.group(&run_id(), 5).await?.expect("it was opened");
    assert_eq!(record.ends, [None, Some(rewarded(5, 1, 0.1 + 0.2)), None]);
    assert_eq!(
        (record.size, record.state, record.deadline_ms),
        (3, GroupState::Open, 1_000)
    );
    assert_eq!(record.meta, group_of(5, 3).meta);
    assert_eq!(record.policy_version, 3);
    Ok(())
}

#[tokio::test]
async fn four_clients_with_the_same_ends_get_each_accepted_once() -> Result<()> {
    let (server, store) = server_and_store().await?;
    for group in 0..50 {
        store.open_group(&group_of(group, 8)).await?;
    }
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..4 {
        let store = Store::connect(&StoreConfig::new(server.url())).await?;
        clients.spawn(async move {
            let mut tally = (0, 0, 0);
            for turn in 0..400_u32 {
                let place = (turn + client * 100) % 400;
                match store
                    .commit_end(&rewarded(u64::from(place / 8), place % 8, 0.5), None)
                    .await?
                {
                    Commit::Accepted {
                        group: GroupState::Open,
                    } => tally.0 += 1,
                    Commit::Accepted { .. } => tally.1 += 1,
                    Commit::Duplicate => tally.2 += 1,
                    other => anyhow::bail!("{other:?}"),
                }
            }
            Ok(tally)
        });
    }
    let mut sum = (0, 0, 0);
    while let Some(tally) = clients.join_next().await {
        let tally = tally??;
        sum = (sum.0 + tally.0, sum.1 + tally.1, sum.2 + tally.2);
    }
    // 400 rollouts accepted once, 50 of them the last of their group; 1600 calls in all.
    assert_eq!(sum, (350, 50, 1200));
    assert_eq!(store.ended_groups(&run_id()).await?.len(), 50);
    assert_eq!(store.open_groups(&run_id()).await?, [] as [u64; 0]);
    Ok(())
}

#[tokio::test]
async fn group_with_failures_ends_as_partial_or_failed() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    for (group, rewards, state) in [(0, 2, GroupState::Partial), (1, 1, GroupState::Failed)] {
        store.open_group(&group_of(group, 4)).await?;
        for rollout in 0..3 {
            let end = if rollout < rewards {
                rewarded(group, rollout, 0.5)
            } else {
                failed(group, rollout)
            };
            assert_eq!(
                store.commit_end(&end, None).await?,
                Commit::Accepted {
                    group: GroupState::Open
                }
            );
        }
        assert_eq!(
            store.commit_end(&failed(group, 3), None).await?,
            Commit::Accepted { group: state }
        );
        assert_eq!(store.ended_groups(&run_id()).await?.get(&group), Some(&state));
    }
    Ok(())
}

#[tokio::test]
async fn overdue_groups_end_once_and_late_ends_are_fenced() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    for (group, rewards) in [(0, 0), (1, 3)] {
        store.open_group(&group_of(group, 4)).await?;
        for rollout in 0..rewards {
            store.commit_end(&rewarded(group, rollout, 0.5), None).await?;
        }
    }
    assert_eq!(store.expire_due(&run_id(), 999).await?, []);
    let ended = store.expire_due(&run_id(), 1_000).await?;
    assert_eq!(ended, [(0, GroupState::Expired), (1, GroupState::Partial)]);
    assert_eq!(store.expire_due(&run_id(), 2_000).await?, []);

    let record = store.group(&run_id(), 1).await?.expect("it was opened");
    let last = record.ends[3].as_ref().expect("it expired");
    assert_eq!((&last.outcome, last.policy_version), (&EndOutcome::Expired, 3));
    assert_eq!(record.ends[0], Some(rewarded(1, 0, 0.5)));
    // Rollouts that ended in time are not late.
    for (end, answer) in [
        (rewarded(1, 3, 0.5), Commit::Late),
        (failed(1, 3), Commit::Late),
        (rewarded(1, 0, 0.75), Commit::Conflict),
        (rewarded(1, 0, 0.5), Commit::Duplicate),
    ] {
        assert_eq!(store.commit_end(&end, None).await?, answer);
    }
    let record = store.group(&run_id(), 1).await?.expect("it was opened");
    assert_eq!(record.ends[3].as_ref(), Some(last));
    let counters = RunCounters {
        accepted: 3,
        duplicates: 1,
        conflicts: 1,
        late: 2,
        unknown: 0,
        expired: 5,
    };
    assert_eq!(store.counters(&run_id()).await?, counters);
    Ok(())
}

#[tokio::test]
async fn numbers_that_are_not_finite_are_refused_by_name() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    store.open_group(&group_of(0, 1)).await?;
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let refused = store.commit_end(&rewarded(0, 0, bad), None).await;
        ensure!(
            matches!(
                refused,
                Err(StoreError::NotFinite {
                    field: "reward.total",
                    ..
                })
            ),
            "{refused:?}"
        );
    }
    let mut slow = rewarded(0, 0, 0.5);
    if let EndOutcome::Rewarded(rewarded) = &mut slow.outcome {
        rewarded.cpu_s = f64::NAN;
    }
    let refused = store
        .commit_end(&slow, None)
        .await
        .map_err(|error| error.to_string());
    assert_eq!(
        refused,
        Err("`cpu_s` of `churn-1/0/0` is `NaN`: it must be finite".into())
    );
    assert_eq!(store.counters(&run_id()).await?, RunCounters::default());
    Ok(())
}

#[tokio::test]
async fn group_of_size_zero_is_refused() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    let refused = store
        .open_group(&group_of(0, 0))
        .await
        .map_err(|error| error.to_string());
    assert_eq!(refused, Err("`size` is `0`: it must be at least 1".into()));
    Ok(())
}
