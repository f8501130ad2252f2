//! Connecting, streams, events, notices and objects.

use std::time::{Duration, Instant};

use journeyman_bus::{Bus, BusConfig, BusError, EventsFrom};
use journeyman_schemas::{
    ADAPTERS_BUCKET, Stage,
    event::{Cancel, GroupEnded, GroupState},
    ids::RunId,
};
use journeyman_testkit::{NatsServer, eventually};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::desk::{Desk, LONG, connect, now_ms, run, short_timing};

#[tokio::test]
async fn streams_are_made_any_number_of_times() {
    let desk = Desk::open().await;
    let other = connect(&desk.server, "other", short_timing()).await;
    let (one, two) = tokio::join!(desk.bus.ensure_streams(), other.ensure_streams());
    one.unwrap();
    two.unwrap();
    for stage in Stage::ALL {
        assert_eq!(desk.bus.backlog(stage).await.unwrap().pending, 0);
    }
}

/// A server that only says who it is.
async fn claim_to_be(info: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            socket
                .write_all(format!("INFO {info}\r\n").as_bytes())
                .await
                .unwrap();
            let mut said = [0; 4096];
            while let Ok(length) = socket.read(&mut said).await {
                if length == 0 || socket.write_all(b"PONG\r\n").await.is_err() {
                    break;
                }
            }
        }
    });
    url
}

#[tokio::test]
async fn server_that_is_too_old_is_refused_by_its_version() {
    let url =
        claim_to_be(r#"{"version":"2.9.10","max_payload":1048576,"headers":true,"jetstream":true}"#).await;
    let error = Bus::connect(&BusConfig::new(&url, "test")).await.err().unwrap();
    assert!(
        matches!(&error, BusError::OldServer { version, .. } if version == "2.9.10"),
        "{error}"
    );
    let text = error.to_string();
    assert!(text.contains("2.12") && text.contains(&url), "{text}");
}

#[tokio::test]
async fn server_without_jetstream_is_refused() {
    let url = claim_to_be(r#"{"version":"2.15.1","max_payload":1048576,"headers":true}"#).await;
    let error = Bus::connect(&BusConfig::new(url, "test")).await.err().unwrap();
    assert!(matches!(error, BusError::NoJetStream { .. }), "{error}");
}

#[tokio::test]
async fn missing_server_is_waited_for_and_then_named() {
    let mut server = NatsServer::start().unwrap();
    server.kill9();
    let mut config = BusConfig {
        timing: short_timing(),
        ..server.config("test")
    };
    config.timing.connect = Duration::from_millis(500);
    let started = Instant::now();
    let error = Bus::connect(&config).await.err().unwrap();
    assert!(started.elapsed() >= config.timing.connect);
    assert!(error.to_string().contains(&server.url()), "{error}");
    config.timing.connect = LONG;
    let late = tokio::spawn(async move { Bus::connect(&config).await });
    server.restart().unwrap();
    assert!(late.await.unwrap().unwrap().is_connected());
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_subject_is_counted_as_a_permission_error() {
    let configuration = r#"
        authorization { users = [ { user: "u", password: "p", permissions: { publish: { deny: "jm.ctl.>" } } } ] }
    "#;
    let server = NatsServer::start_with(configuration).unwrap();
    let config = BusConfig {
        user: Some("u".into()),
        password: Some("p".into()),
        timing: short_timing(),
        ..server.config("test")
    };
    let bus = Bus::connect(&config).await.unwrap();
    assert_eq!(bus.permission_errors(), 0);
    bus.cancel_run(&Cancel {
        run: run(),
        reason: "test".into(),
    })
    .await
    .unwrap();
    eventually(LONG, async || bus.permission_errors() > 0).await;
}

#[tokio::test]
async fn events_come_in_order_from_the_start_or_from_now() {
    let desk = Desk::open().await;
    let other_run = RunId::new("run2").unwrap();
    let publish = async |run: &RunId, group| {
        let event = GroupEnded {
            run: run.clone(),
            group,
            state: GroupState::Partial,
        };
        desk.bus.publish(&format!("{run}/{group}"), &event).await.unwrap();
    };
    publish(&run(), 0).await;
    publish(&other_run, 1).await;
    let mut now = desk
        .bus
        .subscribe_events::<GroupEnded>(Some(&run()), EventsFrom::Now)
        .await
        .unwrap();
    publish(&run(), 2).await;
    let mut all = desk
        .bus
        .subscribe_events::<GroupEnded>(None, EventsFrom::Start)
        .await
        .unwrap();
    assert_eq!(now.next().await.group, 2);
    for group in 0..3 {
        assert_eq!(all.next().await.group, group);
    }
    // A wait that is dropped loses nothing.
    assert!(
        tokio::time::timeout(Duration::from_millis(50), all.next())
            .await
            .is_err()
    );
    publish(&run(), 3).await;
    assert_eq!(all.next().await.group, 3);
    assert_eq!(now.next().await.group, 3);
}

#[tokio::test]
async fn cancel_notice_reaches_those_who_listen() {
    let desk = Desk::open().await;
    let listener = connect(&desk.server, "listener", short_timing()).await;
    let mut cancels = listener.subscribe_cancels().await.unwrap();
    let cancel = Cancel {
        run: run(),
        reason: "enough".into(),
    };
    let heard = tokio::spawn(async move { cancels.next().await });
    eventually(LONG, async || {
        desk.bus.cancel_run(&cancel).await.unwrap();
        heard.is_finished()
    })
    .await;
    assert_eq!(heard.await.unwrap(), Some(cancel));
}

#[tokio::test]
async fn object_of_8_mib_comes_back_as_it_was() {
    let desk = Desk::open().await;
    let bytes: Vec<u8> = (0..8 * 1024 * 1024_u32)
        .map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    desk.bus
        .put_object(ADAPTERS_BUCKET, "a1b2", &bytes)
        .await
        .unwrap();
    desk.bus
        .put_object(ADAPTERS_BUCKET, "a1b2", &bytes)
        .await
        .unwrap();
    assert_eq!(desk.bus.get_object(ADAPTERS_BUCKET, "a1b2").await.unwrap(), bytes);
    desk.bus.delete_object(ADAPTERS_BUCKET, "a1b2").await.unwrap();
    desk.bus.delete_object(ADAPTERS_BUCKET, "a1b2").await.unwrap();
    let error = desk.bus.get_object(ADAPTERS_BUCKET, "a1b2").await.unwrap_err();
    assert!(matches!(error, BusError::NoObject { .. }), "{error}");
}

#[tokio::test]
async fn backlog_tells_the_age_of_the_oldest_job() {
    let desk = Desk::open().await;
    let before = now_ms();
    desk.enqueue(0).await;
    desk.enqueue(1).await;
    let backlog = desk.bus.backlog(Stage::Execute).await.unwrap();
    assert_eq!((backlog.pending, backlog.in_flight), (2, 0));
    let oldest = backlog.oldest_ms.unwrap();
    assert!(oldest >= before - 1 && oldest <= now_ms(), "{oldest}");
    assert!(backlog.oldest_age_s() < 20.0);
    assert_eq!(desk.bus.backlog(Stage::Grade).await.unwrap().oldest_ms, None);
}
