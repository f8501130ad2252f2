//! Earlier solutions come in with accepted ends only.

use anyhow::Result;
use journeyman_schemas::ids::ContentHash;

use super::{entry, group_of, rewarded, run_id, server_and_store, solution, task_id};
use crate::{ARCHIVE_LIMIT, ArchivedSolution, Commit, POOL_LIMIT};

#[tokio::test]
async fn archive_takes_solutions_of_accepted_ends_only() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    let (run, task) = (run_id(), task_id());
    store.open_group(&group_of(0, 1)).await?;
    store
        .commit_end(&rewarded(0, 0, 0.5), Some(&entry("a", Some(0.5))))
        .await?;
    let duplicate = store
        .commit_end(&rewarded(0, 0, 0.5), Some(&entry("b", Some(0.9))))
        .await?;
    let conflict = store
        .commit_end(&rewarded(0, 0, 0.7), Some(&entry("c", Some(0.9))))
        .await?;
    let unknown = store
        .commit_end(&rewarded(1, 0, 0.5), Some(&entry("d", Some(0.9))))
        .await?;
    assert_eq!(
        (duplicate, conflict, unknown),
        (Commit::Duplicate, Commit::Conflict, Commit::Unknown)
    );

    let archived = ArchivedSolution {
        solution: solution("a", Some(0.5)),
        gain: 0.5,
    };
    assert_eq!(store.archive(&run, &task, 10).await?, [archived]);
    assert_eq!(store.pool(&run, &task).await?, [solution("a", Some(0.5))]);
    Ok(())
}

#[tokio::test]
async fn archive_holds_the_best_distinct_programs_best_first() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    let (run, task) = (run_id(), task_id());
    store.open_group(&group_of(0, 200)).await?;
    for rollout in 0..200_u32 {
        // 100 programs, each twice; the second time worse.
        let program = (rollout * 37) % 100;
        let gain = f64::from(program) - f64::from(rollout / 100) * 0.5;
        store
            .commit_end(
                &rewarded(0, rollout, gain),
                Some(&entry(&program.to_string(), Some(gain))),
            )
            .await?;
    }
    let archive = store.archive(&run, &task, 1000).await?;
    assert_eq!(archive.len(), ARCHIVE_LIMIT);
    let gains: Vec<f64> = archive.iter().map(|archived| archived.gain).collect();
    let best: Vec<f64> = (36..100).rev().map(f64::from).collect();
    assert_eq!(gains, best);
    assert_eq!(archive[0].solution.program, ContentHash::of(b"99"));
    assert_eq!(store.archive(&run, &task, 2).await?.len(), 2);
    Ok(())
}

#[tokio::test]
async fn invalid_solutions_come_into_the_pool_but_not_into_the_archive() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    let (run, task) = (run_id(), task_id());
    store.open_group(&group_of(0, 2)).await?;
    store
        .commit_end(&rewarded(0, 0, -10.0), Some(&entry("broken", None)))
        .await?;
    store
        .commit_end(&rewarded(0, 1, -0.5), Some(&entry("works", Some(-0.5))))
        .await?;
    assert_eq!(
        store.pool(&run, &task).await?,
        [solution("broken", None), solution("works", Some(-0.5))]
    );
    let archive = store.archive(&run, &task, 10).await?;
    assert_eq!(
        archive,
        [ArchivedSolution {
            solution: solution("works", Some(-0.5)),
            gain: -0.5
        }]
    );
    Ok(())
}

#[tokio::test]
async fn pool_keeps_the_order_of_arrival_and_drops_the_oldest() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    let (run, task) = (run_id(), task_id());
    for program in 0..POOL_LIMIT + 3 {
        store
            .pool_add(&run, &task, &solution(&program.to_string(), None))
            .await?;
        store
            .pool_add(&run, &task, &solution(&program.to_string(), None))
            .await?;
    }
    let pool = store.pool(&run, &task).await?;
    assert_eq!(pool.len(), POOL_LIMIT);
    assert_eq!(pool[0], solution("3", None));
    assert_eq!(pool.last(), Some(&solution(&(POOL_LIMIT + 2).to_string(), None)));
    Ok(())
}

#[tokio::test]
async fn report_scores_are_kept_apart_from_all_that_the_policy_sees() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    let (run, task) = (run_id(), task_id());
    store.open_group(&group_of(0, 1)).await?;
    let end = rewarded(0, 0, 0.5);
    store.put_report(&end.key, 0.123_456_789).await?;
    store.commit_end(&end, Some(&entry("a", Some(0.5)))).await?;
    assert_eq!(store.report(&run).await?, [(end.key.clone(), 0.123_456_789)]);
    let seen = format!(
        "{:?} {:?} {:?}",
        store.archive(&run, &task, 10).await?,
        store.pool(&run, &task).await?,
        store.group(&run, 0).await?
    );
    assert!(!seen.contains("0.1234"), "{seen}");
    assert!(store.put_report(&end.key, f64::NAN).await.is_err());
    Ok(())
}
