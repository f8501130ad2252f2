//! Jobs: done once, retried with patience, given up for good.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use journeyman_bus::{BusError, JobError, JobOutcome, LostCause};
use journeyman_schemas::{DEAD_STREAM, JOBS_STREAM, MESSAGE_LIMIT_BYTES, Stage, envelope::Envelope};
use journeyman_testkit::eventually;
use tokio::time::sleep;

use crate::desk::{Desk, Foreign, LONG, Sum, envelope, job, key, run, stored};

#[tokio::test(flavor = "multi_thread")]
async fn job_that_is_done_is_delivered_once() {
    let desk = Desk::open().await;
    for rollout in 0..20 {
        desk.enqueue(rollout).await;
        desk.enqueue(rollout).await;
    }
    assert_eq!(stored(&desk.server, JOBS_STREAM).await, 20);
    let sums = Arc::new(Mutex::new(Vec::new()));
    let worker = desk
        .worker(4, 5, {
            let sums = sums.clone();
            move |job, attempt| {
                let sum: u64 = job.body.terms.iter().sum();
                sums.lock()
                    .unwrap()
                    .push((job.key.unwrap().rollout, sum, attempt));
                async { Ok(()) }
            }
        })
        .await;
    eventually(LONG, async || desk.notes.done() == 20).await;
    eventually(LONG, async || {
        desk.bus
            .backlog(Stage::Execute)
            .await
            .unwrap()
            .oldest_ms
            .is_none()
    })
    .await;
    let backlog = desk.bus.backlog(Stage::Execute).await.unwrap();
    assert_eq!(
        (backlog.pending, backlog.in_flight, backlog.redelivered),
        (0, 0, 0)
    );
    worker.finish().await;
    let mut sums = sums.lock().unwrap().clone();
    sums.sort_unstable();
    assert_eq!(sums, (0..20).map(|rollout| (rollout, 3, 1)).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn job_of_a_dead_worker_is_delivered_again() {
    let desk = Desk::open().await;
    let doomed = desk.worker(1, 5, |_, _| std::future::pending()).await;
    desk.enqueue(0).await;
    eventually(LONG, async || desk.notes.started.load(Ordering::SeqCst) == 1).await;
    doomed.die().await;
    let attempts = Arc::new(Mutex::new(Vec::new()));
    let heir = desk
        .worker(1, 5, {
            let attempts = attempts.clone();
            move |_, attempt| {
                attempts.lock().unwrap().push(attempt);
                async { Ok(()) }
            }
        })
        .await;
    eventually(LONG, async || desk.notes.done() == 1).await;
    assert_eq!(*attempts.lock().unwrap(), [2]);
    assert_eq!(desk.notes.redelivered.load(Ordering::SeqCst), 1);
    heir.finish().await;
}

// taskiq-nats#16: a task longer than the lease ran twice.
#[tokio::test(flavor = "multi_thread")]
async fn job_longer_than_three_leases_runs_once() {
    let mut desk = Desk::open().await;
    desk.timing.ack_wait = Duration::from_secs(2);
    let handler = |_, _| async {
        sleep(Duration::from_millis(6500)).await;
        Ok(())
    };
    let one = desk.worker(1, 5, handler).await;
    let other = desk.worker(1, 5, handler).await;
    desk.enqueue(0).await;
    eventually(LONG, async || desk.notes.done() == 1).await;
    assert_eq!(desk.notes.started.load(Ordering::SeqCst), 1);
    assert!(desk.notes.progress.load(Ordering::SeqCst) >= 8);
    one.finish().await;
    other.finish().await;
}

// newchat#346: naks without a delay used up every delivery within milliseconds.
#[tokio::test(flavor = "multi_thread")]
async fn retry_waits_longer_each_time_and_is_given_up_at_the_last_delivery() {
    let desk = Desk::open().await;
    let times = Arc::new(Mutex::new(Vec::new()));
    let worker = desk
        .worker(1, 4, {
            let times = times.clone();
            move |_, attempt| {
                times.lock().unwrap().push((attempt, Instant::now()));
                async { Err(JobError::retry("the model is away")) }
            }
        })
        .await;
    desk.enqueue(0).await;
    eventually(LONG, async || desk.notes.lost().len() == 1).await;
    worker.finish().await;
    let times = times.lock().unwrap();
    assert_eq!(
        times.iter().map(|(attempt, _)| *attempt).collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    for (pair, least_ms) in times.windows(2).zip([100, 200, 400]) {
        let gap = pair[1].1 - pair[0].1;
        assert!(
            gap >= Duration::from_millis(least_ms),
            "{gap:?} after delivery {}",
            pair[0].0
        );
    }
    let lost = &desk.notes.lost()[0];
    assert_eq!(
        (lost.cause, lost.attempt, lost.key.clone()),
        (LostCause::LastDelivery, 4, Some(key(0)))
    );
    assert!(lost.reason.contains("the model is away"), "{}", lost.reason);
    assert_eq!(lost.message["body"]["terms"], serde_json::json!([1, 2]));
    assert_eq!(desk.notes.outcomes()[..3], [JobOutcome::Retried; 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn poison_job_ends_in_the_dead_letters_at_once() {
    let desk = Desk::open().await;
    let worker = desk
        .worker(1, 5, |_, _| async { Err(JobError::poison("no such task")) })
        .await;
    desk.enqueue(0).await;
    eventually(LONG, async || desk.notes.outcomes().len() == 1).await;
    assert_eq!(desk.notes.outcomes(), [JobOutcome::GivenUp(LostCause::Poison)]);
    assert_eq!(desk.notes.lost()[0].reason, "no such task");
    assert_eq!(stored(&desk.server, DEAD_STREAM).await, 1);
    let backlog = desk.bus.backlog(Stage::Execute).await.unwrap();
    assert_eq!((backlog.pending, backlog.in_flight), (0, 0));
    worker.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn job_that_kills_its_workers_is_given_up_without_another_try() {
    let desk = Desk::open().await;
    desk.enqueue(0).await;
    for death in 1..=2 {
        let worker = desk.worker(1, 2, |_, _| std::future::pending()).await;
        eventually(LONG, async || desk.notes.started.load(Ordering::SeqCst) == death).await;
        worker.die().await;
    }
    let worker = desk.worker(1, 2, |_, _| async { Ok(()) }).await;
    eventually(LONG, async || desk.notes.lost().len() == 1).await;
    worker.finish().await;
    assert_eq!(
        desk.notes.outcomes(),
        [JobOutcome::GivenUp(LostCause::LastDelivery)]
    );
    assert_eq!(desk.notes.started.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn job_past_its_deadline_is_given_up_without_work() {
    let desk = Desk::open().await;
    desk.bus
        .enqueue(&envelope(0, -1, Sum { terms: vec![] }))
        .await
        .unwrap();
    let worker = desk.worker(1, 5, |_, _| async { Ok(()) }).await;
    eventually(LONG, async || desk.notes.lost().len() == 1).await;
    worker.finish().await;
    assert_eq!(desk.notes.lost()[0].cause, LostCause::Deadline);
    assert_eq!(desk.notes.started.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn job_that_outlives_its_deadline_is_dropped() {
    let desk = Desk::open().await;
    let worker = desk.worker(1, 5, |_, _| std::future::pending()).await;
    desk.bus
        .enqueue(&envelope(0, 5000, Sum { terms: vec![] }))
        .await
        .unwrap();
    eventually(LONG, async || desk.notes.lost().len() == 1).await;
    worker.finish().await;
    assert_eq!(desk.notes.lost()[0].cause, LostCause::Deadline);
    assert_eq!(desk.notes.started.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn job_of_a_cancelled_run_is_dropped_and_the_next_never_starts() {
    let desk = Desk::open().await;
    let worker = desk.worker(1, 5, |_, _| std::future::pending()).await;
    desk.enqueue(0).await;
    desk.enqueue(1).await;
    eventually(LONG, async || desk.notes.started.load(Ordering::SeqCst) == 1).await;
    desk.notes.cancelled.lock().unwrap().push(run());
    eventually(LONG, async || desk.notes.lost().len() == 2).await;
    worker.finish().await;
    assert!(
        desk.notes
            .lost()
            .iter()
            .all(|lost| lost.cause == LostCause::Cancelled)
    );
    assert_eq!(desk.notes.started.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn message_that_is_no_job_is_given_up_and_the_loop_goes_on() {
    let desk = Desk::open().await;
    let worker = desk.worker(1, 5, |_, _| async { Ok(()) }).await;
    desk.bus
        .enqueue(&envelope(0, 60_000, Foreign { text: "hello".into() }))
        .await
        .unwrap();
    desk.enqueue(1).await;
    eventually(LONG, async || desk.notes.outcomes().len() == 2).await;
    worker.finish().await;
    assert_eq!(desk.notes.done(), 1);
    let lost = desk.notes.lost();
    assert_eq!(
        (lost[0].cause, lost[0].run.clone()),
        (LostCause::Undecodable, run())
    );
    assert_eq!(lost[0].message["body"]["text"], "hello");
    assert_eq!(stored(&desk.server, DEAD_STREAM).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn job_without_a_rollout_is_given_up_before_any_work() {
    let desk = Desk::open().await;
    let job = Envelope { key: None, ..job(0) };
    desk.publish_raw("jm.job.execute.run1", serde_json::to_vec(&job).unwrap())
        .await;
    let worker = desk.worker(1, 5, |_, _| async { Ok(()) }).await;
    eventually(LONG, async || desk.notes.lost().len() == 1).await;
    worker.finish().await;
    assert_eq!(desk.notes.lost()[0].cause, LostCause::Undecodable);
    assert_eq!(desk.notes.started.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_json_are_given_up_under_their_subjects_run() {
    let desk = Desk::open().await;
    desk.publish_raw("jm.job.execute.run1", vec![0xff, 0x00]).await;
    desk.publish_raw("jm.job.execute.Bad-Name", vec![]).await;
    let worker = desk.worker(1, 5, |_, _| async { Ok(()) }).await;
    eventually(LONG, async || desk.notes.lost().len() == 2).await;
    worker.finish().await;
    let runs: Vec<String> = desk
        .notes
        .lost()
        .iter()
        .map(|lost| lost.run.to_string())
        .collect();
    assert_eq!(runs, ["run1", "unknown"]);
    assert!(
        desk.notes
            .lost()
            .iter()
            .all(|lost| lost.message.is_string() && lost.key.is_none())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn give_up_that_fails_is_tried_again() {
    let desk = Desk::open().await;
    desk.notes.give_up_fails.store(2, Ordering::SeqCst);
    let worker = desk
        .worker(1, 1, |_, _| async { Err(JobError::retry("no luck")) })
        .await;
    desk.enqueue(0).await;
    eventually(LONG, async || desk.notes.lost().len() == 1).await;
    worker.finish().await;
    assert_eq!(desk.notes.started.load(Ordering::SeqCst), 1);
    assert_eq!(desk.notes.outcomes()[..2], [JobOutcome::Retried; 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn handler_that_panics_is_retried() {
    let desk = Desk::open().await;
    let worker = desk
        .worker(1, 5, |_, attempt| async move {
            assert!(attempt > 1, "first time unlucky");
            Ok(())
        })
        .await;
    desk.enqueue(0).await;
    eventually(LONG, async || desk.notes.done() == 1).await;
    worker.finish().await;
    assert_eq!(desk.notes.outcomes(), [JobOutcome::Retried, JobOutcome::Done]);
}

#[tokio::test(flavor = "multi_thread")]
async fn worker_with_two_slots_never_holds_three_jobs() {
    let desk = Desk::open().await;
    let (now, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    for rollout in 0..12 {
        desk.enqueue(rollout).await;
    }
    let worker = desk
        .worker(2, 5, {
            let (now, most) = (now.clone(), most.clone());
            move |_, _| {
                let (now, most) = (now.clone(), most.clone());
                async move {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    sleep(Duration::from_millis(30)).await;
                    now.fetch_sub(1, Ordering::SeqCst);
                    Ok(())
                }
            }
        })
        .await;
    eventually(LONG, async || {
        let in_flight = desk.bus.backlog(Stage::Execute).await.unwrap().in_flight;
        assert!(in_flight <= 2, "{in_flight} jobs are held");
        desk.notes.done() == 12
    })
    .await;
    worker.finish().await;
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn worker_that_stops_finishes_what_it_has_and_takes_no_more() {
    let desk = Desk::open().await;
    let handler = |_, _| async {
        sleep(Duration::from_millis(400)).await;
        Ok(())
    };
    let worker = desk.worker(1, 5, handler).await;
    desk.enqueue(0).await;
    desk.enqueue(1).await;
    eventually(LONG, async || desk.notes.started.load(Ordering::SeqCst) == 1).await;
    worker.finish().await;
    assert_eq!(desk.notes.done(), 1);
    let backlog = desk.bus.backlog(Stage::Execute).await.unwrap();
    assert_eq!((backlog.pending, backlog.in_flight), (1, 0));
    assert!(backlog.oldest_ms.is_some());
}

#[tokio::test]
async fn job_over_the_limit_is_refused_with_both_sizes() {
    let desk = Desk::open().await;
    let error = desk
        .bus
        .enqueue(&envelope(
            0,
            60_000,
            Sum {
                terms: vec![1; 40_000],
            },
        ))
        .await
        .unwrap_err();
    let BusError::TooLarge { size, limit, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(limit, MESSAGE_LIMIT_BYTES);
    assert!(size > 80_000, "{size}");
}

#[tokio::test]
async fn job_without_a_rollout_is_refused() {
    let desk = Desk::open().await;
    let orphan = journeyman_schemas::envelope::Envelope { key: None, ..job(0) };
    let error = desk.bus.enqueue(&orphan).await.unwrap_err();
    assert!(matches!(error, BusError::NoKey { .. }), "{error}");
}
