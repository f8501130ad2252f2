//! The server dies and comes back: loops go on, nothing is lost, nothing is doubled.

use std::{sync::Arc, time::Duration};

use journeyman_bus::{BusConfig, BusError, EventsFrom};
use journeyman_schemas::{
    EVENTS_STREAM, JOBS_STREAM, Stage,
    event::{GroupEnded, GroupState},
};
use journeyman_testkit::{ScriptedLm, eventually};

use crate::desk::{Desk, LONG, envelope, job, run, short_timing, stored};

#[tokio::test(flavor = "multi_thread")]
async fn worker_loop_outlives_the_server() {
    let mut desk = Desk::open().await;
    let worker = desk.worker(2, 5, |_, _| async { Ok(()) }).await;
    desk.enqueue(0).await;
    eventually(LONG, async || desk.notes.done() == 1).await;
    for rollout in 1..=2 {
        desk.server.restart().unwrap();
        desk.enqueue(rollout).await;
        eventually(LONG, async || desk.notes.done() > rollout as usize).await;
    }
    worker.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn job_under_way_when_the_server_dies_is_done_once_the_server_is_back() {
    let mut desk = Desk::open().await;
    let worker = desk
        .worker(1, 5, |_, _| async {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            Ok(())
        })
        .await;
    desk.enqueue(0).await;
    eventually(LONG, async || {
        desk.notes.started.load(std::sync::atomic::Ordering::SeqCst) == 1
    })
    .await;
    desk.server.restart().unwrap();
    eventually(LONG, async || desk.notes.done() >= 1).await;
    eventually(LONG, async || {
        let backlog = desk.bus.backlog(Stage::Execute).await;
        backlog.is_ok_and(|backlog| backlog.pending + backlog.in_flight == 0)
    })
    .await;
    worker.finish().await;
}

// nats.node#628: a publication without an answer is delivered after the reconnection.
#[tokio::test(flavor = "multi_thread")]
async fn job_queued_while_the_server_is_down_is_stored_once() {
    let mut desk = Desk::open().await;
    desk.server.kill9();
    let bus = desk.bus.clone();
    let queued = tokio::spawn(async move { bus.enqueue(&job(0)).await });
    // Longer than one try, so that there are several.
    tokio::time::sleep(Duration::from_millis(5500)).await;
    desk.server.restart().unwrap();
    queued.await.unwrap().unwrap();
    desk.enqueue(0).await;
    assert_eq!(stored(&desk.server, JOBS_STREAM).await, 1);
}

// nats-server#3272: a work queue forgets the ids of acknowledged messages at a restart.
#[tokio::test(flavor = "multi_thread")]
async fn job_that_was_done_before_a_restart_is_not_taken_again() {
    let mut desk = Desk::open().await;
    let worker = desk.worker(1, 5, |_, _| async { Ok(()) }).await;
    desk.enqueue(0).await;
    eventually(LONG, async || desk.notes.done() == 1).await;
    desk.server.restart().unwrap();
    desk.enqueue(0).await;
    desk.enqueue(1).await;
    // More than 2 when the kill came before the acknowledgement was on disk: delivered again, not stored again.
    eventually(LONG, async || desk.notes.done() >= 2).await;
    worker.finish().await;
    assert_eq!(stored(&desk.server, JOBS_STREAM).await, 2);
}

#[tokio::test]
async fn publication_to_a_server_that_stays_away_fails_in_time() {
    let mut desk = Desk::open().await;
    let mut timing = short_timing();
    timing.publish = Duration::from_secs(1);
    let config = BusConfig {
        timing,
        ..desk.server.config("hasty")
    };
    let bus = journeyman_bus::Bus::connect(&config).await.unwrap();
    desk.server.kill9();
    let error = tokio::time::timeout(LONG, bus.enqueue(&job(0)))
        .await
        .unwrap()
        .unwrap_err();
    assert!(matches!(error, BusError::Unavailable { .. }), "{error}");
}

// nats-server#6888: the server came back without the stream.
#[tokio::test(flavor = "multi_thread")]
async fn streams_that_vanish_are_made_again() {
    let desk = Desk::open().await;
    let worker = desk.worker(1, 5, |_, _| async { Ok(()) }).await;
    desk.enqueue(0).await;
    eventually(LONG, async || desk.notes.done() == 1).await;
    let client = async_nats::connect(desk.server.url()).await.unwrap();
    async_nats::jetstream::new(client)
        .delete_stream(JOBS_STREAM)
        .await
        .unwrap();
    desk.enqueue(1).await;
    eventually(LONG, async || desk.notes.done() >= 2).await;
    worker.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn responder_is_back_when_the_server_is() {
    let mut desk = Desk::open().await;
    let model = journeyman_schemas::ids::ModelId::new("tiny").unwrap();
    let _lm = ScriptedLm::always(&desk.bus, &model, "hello");
    let generate = journeyman_schemas::generate::Generate {
        model,
        adapter: None,
        prompt: journeyman_schemas::generate::Prompt::TokenIds(vec![1]),
        sampling: journeyman_schemas::generate::Sampling::greedy(8),
        n: 1,
    };
    let ask = || async { desk_request(&desk.bus, &generate).await };
    eventually(LONG, ask).await;
    desk.server.restart().unwrap();
    eventually(LONG, || async { desk_request(&desk.bus, &generate).await }).await;
}

async fn desk_request(bus: &journeyman_bus::Bus, generate: &journeyman_schemas::generate::Generate) -> bool {
    bus.request(&envelope(0, 5000, generate.clone())).await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn events_go_on_after_a_restart_without_gap_or_double() {
    let mut desk = Desk::open().await;
    let mut events = desk
        .bus
        .subscribe_events::<GroupEnded>(Some(&run()), EventsFrom::Now)
        .await
        .unwrap();
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let reader = tokio::spawn({
        let seen = seen.clone();
        async move {
            loop {
                let group = events.next().await.group;
                seen.lock().unwrap().push(group);
            }
        }
    });
    for group in 0..4 {
        if group == 2 {
            desk.server.restart().unwrap();
        }
        let event = GroupEnded {
            run: run(),
            group,
            state: GroupState::Complete,
        };
        for _ in 0..2 {
            desk.bus.publish(&format!("run1/{group}"), &event).await.unwrap();
        }
    }
    eventually(LONG, async || seen.lock().unwrap().len() >= 4).await;
    assert_eq!(*seen.lock().unwrap(), [0, 1, 2, 3]);
    assert_eq!(stored(&desk.server, EVENTS_STREAM).await, 4);
    reader.abort();
}
