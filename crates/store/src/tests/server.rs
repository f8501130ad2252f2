//! Servers that are wrong, gone, killed, frozen or full.

use std::{
    io::{Read, Write},
    net::TcpListener,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use journeyman_schemas::event::GroupState;
use journeyman_testkit::RedisServer;

use super::{entry, group_of, rewarded, run_id, server_and_store, task_id};
use crate::{Commit, Store, StoreConfig, StoreError};

#[tokio::test]
async fn connect_refuses_a_server_that_evicts_and_says_the_mend() -> Result<()> {
    let server = RedisServer::with_policy("allkeys-lru")?;
    let error = Store::connect(&StoreConfig::new(server.url()))
        .await
        .expect_err("it evicts");
    ensure!(matches!(error, StoreError::Eviction { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("`allkeys-lru`"), "{text}");
    assert!(
        text.contains("redis-cli config set maxmemory-policy noeviction"),
        "{text}"
    );
    Ok(())
}

#[tokio::test]
async fn connect_refuses_a_server_that_forgets_unless_told_otherwise() -> Result<()> {
    let server = RedisServer::start_with(&["--appendonly", "no"])?;
    let mut config = StoreConfig::new(server.url());
    let error = Store::connect(&config).await.expect_err("it forgets");
    ensure!(matches!(error, StoreError::Volatile), "{error:?}");
    config.allow_volatile = true;
    Store::connect(&config).await?.ping().await?;
    Ok(())
}

#[tokio::test]
async fn connect_refuses_an_old_server() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || old_server(&listener));
    let error = Store::connect(&StoreConfig::new(format!("redis://127.0.0.1:{port}")))
        .await
        .expect_err("it is old");
    assert_eq!(
        error.to_string(),
        "redis is `6.0.16`, at least 7 is needed: install redis-server 7 or newer"
    );
    Ok(())
}

/// Answers INFO as Redis 6 does, and OK to all else.
fn old_server(listener: &TcpListener) -> std::io::Result<()> {
    let info = "redis_version:6.0.16\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n";
    for stream in listener.incoming() {
        let mut stream = stream?;
        std::thread::spawn(move || -> std::io::Result<()> {
            let mut buffer = [0; 4096];
            loop {
                let length = stream.read(&mut buffer)?;
                if length == 0 {
                    return Ok(());
                }
                let asked = String::from_utf8_lossy(&buffer[..length]).into_owned();
                for command in asked.split('*').skip(1) {
                    let info = format!("${}\r\n{info}\r\n", info.len());
                    let answer = if command.contains("INFO") && !command.contains("SETINFO") {
                        &info
                    } else {
                        "+OK\r\n"
                    };
                    stream.write_all(answer.as_bytes())?;
                }
            }
        });
    }
    Ok(())
}

#[tokio::test]
async fn connect_without_a_server_fails_in_seconds() -> Result<()> {
    let started = Instant::now();
    let error = Store::connect(&StoreConfig::new("unix:///tmp/no-such-socket-of-redis"))
        .await
        .expect_err("nobody there");
    ensure!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    assert!(error.code().retry());
    assert!(
        started.elapsed() < Duration::from_secs(15),
        "{:?}",
        started.elapsed()
    );
    Ok(())
}

#[tokio::test]
async fn connect_with_a_bad_address_shows_it_without_its_password() {
    let error = Store::connect(&StoreConfig::new("http://me:hush@host:1"))
        .await
        .expect_err("no redis address");
    let text = error.to_string();
    assert!(text.contains("`…@host:1` is not a redis address"), "{text}");
    assert!(!text.contains("hush"), "{text}");
}

#[tokio::test]
async fn killed_and_restarted_server_has_lost_nothing() -> Result<()> {
    let (mut server, store) = server_and_store().await?;
    store.open_group(&group_of(0, 3)).await?;
    store
        .commit_end(&rewarded(0, 0, 0.5), Some(&entry("a", Some(0.5))))
        .await?;
    store.commit_end(&rewarded(0, 1, 0.5), None).await?;
    server.kill9();
    server.restart()?;

    // The same client goes on by itself, and the functions are there.
    assert_eq!(
        store.commit_end(&rewarded(0, 1, 0.5), None).await?,
        Commit::Duplicate
    );
    let complete = Commit::Accepted {
        group: GroupState::Complete,
    };
    assert_eq!(store.commit_end(&rewarded(0, 2, 0.5), None).await?, complete);
    assert_eq!(store.archive(&run_id(), &task_id(), 9).await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn lost_functions_are_loaded_on_demand() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    let () = store.run(redis::cmd("FUNCTION").arg("FLUSH")).await?;
    store.open_group(&group_of(0, 1)).await?;
    let complete = Commit::Accepted {
        group: GroupState::Complete,
    };
    assert_eq!(store.commit_end(&rewarded(0, 0, 0.5), None).await?, complete);
    Ok(())
}

#[tokio::test]
async fn dead_server_is_unavailable_and_comes_back() -> Result<()> {
    let (mut server, store) = server_and_store().await?;
    server.kill9();
    let started = Instant::now();
    let refused = store.ping().await;
    ensure!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert!(
        started.elapsed() < Duration::from_secs(30),
        "{:?}",
        started.elapsed()
    );
    server.restart()?;
    store.ping().await?;
    Ok(())
}

#[tokio::test]
async fn frozen_server_is_unavailable_within_its_time_and_the_write_is_safe_to_repeat() -> Result<()> {
    let (server, store) = server_and_store().await?;
    store.open_group(&group_of(0, 2)).await?;
    server.freeze()?;
    let started = Instant::now();
    let refused = store.commit_end(&rewarded(0, 0, 0.5), None).await;
    ensure!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert!(
        started.elapsed() < Duration::from_secs(15),
        "{:?}",
        started.elapsed()
    );
    server.thaw()?;
    // Nobody can know whether the first one arrived.
    let again = store.commit_end(&rewarded(0, 0, 0.5), None).await?;
    ensure!(
        matches!(again, Commit::Accepted { .. } | Commit::Duplicate),
        "{again:?}"
    );
    assert_eq!(store.counters(&run_id()).await?.accepted, 1);
    Ok(())
}

#[tokio::test]
async fn full_server_says_so_and_keeps_what_it_has() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    let limit = async |bytes: &str| -> Result<(), StoreError> {
        store
            .run(redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg(bytes))
            .await
    };
    store.open_group(&group_of(0, 2)).await?;
    store.commit_end(&rewarded(0, 0, 0.5), None).await?;
    limit("1mb").await?;
    let refused = store.commit_end(&rewarded(0, 1, 0.5), None).await;
    ensure!(matches!(refused, Err(StoreError::Full(_))), "{refused:?}");
    let refused = store.put_blob(b"more").await;
    ensure!(matches!(refused, Err(StoreError::Full(_))), "{refused:?}");
    assert_eq!(
        store
            .group(&run_id(), 0)
            .await?
            .map(|group| group.ends[0].is_some()),
        Some(true)
    );
    limit("0").await?;
    let complete = Commit::Accepted {
        group: GroupState::Complete,
    };
    assert_eq!(store.commit_end(&rewarded(0, 1, 0.5), None).await?, complete);
    Ok(())
}
