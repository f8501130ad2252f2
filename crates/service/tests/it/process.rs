//! The smallest service as a process: arguments, signals, exit status, messages.

use std::{
    net::{SocketAddr, TcpListener},
    process::{Child, Command, ExitStatus, Output, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use journeyman_schemas::Stage;
use journeyman_testkit::{RedisServer, eventually};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::desk::{Desk, LONG, ask};

fn smallest() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_smallest"));
    command.env_clear().env("JOURNEYMAN__SERVICE__LOG", "warn");
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

struct Running {
    child: Child,
    admin: SocketAddr,
}

impl Running {
    async fn start(desk: &Desk, grace_s: &str) -> Result<Self> {
        // Free a moment ago; no other program here takes fixed ports.
        let admin = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let child = smallest()
            .env("JOURNEYMAN__NATS__URL", desk.nats.url())
            .env("JOURNEYMAN__REDIS__URL", desk.redis.url())
            .env("JOURNEYMAN__ADMIN__LISTEN", admin.to_string())
            .env("JOURNEYMAN__SERVICE__GRACE_S", grace_s)
            .stderr(Stdio::null())
            .spawn()?;
        let running = Self { child, admin };
        running.wait_for("/ready", |held| held == "ready\n").await;
        Ok(running)
    }

    async fn wait_for(&self, path: &str, is_there: impl Fn(&str) -> bool) {
        eventually(LONG, || async {
            ask(self.admin, "GET", path, "")
                .await
                .is_ok_and(|(_, body)| is_there(&body))
        })
        .await;
    }

    async fn hold_a_job(&self, desk: &Desk, group: u64, milliseconds: u64) -> Result<()> {
        desk.enqueue(group, 0, milliseconds).await?;
        let held = |line: &str| line.starts_with("journeyman_jobs_in_flight{") && line.ends_with("} 1");
        self.wait_for("/metrics", |metrics| metrics.lines().any(held))
            .await;
        Ok(())
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill(Pid::from_raw(i32::try_from(self.child.id())?), signal)?)
    }

    async fn gone(&mut self) -> Result<ExitStatus> {
        let mut status = None;
        let child = &mut self.child;
        eventually(LONG, || {
            status = child.try_wait().ok().flatten();
            let gone = status.is_some();
            async move { gone }
        })
        .await;
        status.context("it is gone but has no status")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may be gone already.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[tokio::test]
async fn terminated_service_is_not_ready_finishes_its_job_and_exits_with_0() -> Result<()> {
    let desk = Desk::open().await?;
    for (group, signal) in [(0, Signal::SIGTERM), (1, Signal::SIGINT)] {
        let mut running = Running::start(&desk, "20").await?;
        running.hold_a_job(&desk, group, 1500).await?;
        running.signal(signal)?;
        running.wait_for("/ready", |held| held == "stop\n").await;
        assert_eq!(running.gone().await?.code(), Some(0));
        let backlog = desk.bus.backlog(Stage::Execute).await?;
        assert_eq!((backlog.pending, backlog.in_flight), (0, 0));
    }
    Ok(())
}

#[tokio::test]
async fn second_signal_ends_the_service_at_once() -> Result<()> {
    let desk = Desk::open().await?;
    let mut running = Running::start(&desk, "600").await?;
    running.hold_a_job(&desk, 0, 600_000).await?;
    running.signal(Signal::SIGINT)?;
    running.wait_for("/ready", |held| held == "stop\n").await;
    running.signal(Signal::SIGTERM)?;
    assert_eq!(running.gone().await?.code(), Some(128 + 15));
    Ok(())
}

#[tokio::test]
async fn service_with_work_past_the_grace_period_exits_with_1() -> Result<()> {
    let desk = Desk::open().await?;
    let mut running = Running::start(&desk, "0.3").await?;
    running.hold_a_job(&desk, 0, 600_000).await?;
    let started = Instant::now();
    running.signal(Signal::SIGTERM)?;
    assert_eq!(running.gone().await?.code(), Some(1));
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
    Ok(())
}

#[tokio::test]
async fn log_filter_is_shown_and_changed() -> Result<()> {
    let desk = Desk::open().await?;
    let running = Running::start(&desk, "1").await?;
    assert_eq!(
        ask(running.admin, "GET", "/log-level", "").await?,
        (200, "warn\n".into())
    );
    assert_eq!(
        ask(running.admin, "PUT", "/log-level", "error,journeyman_bus=debug")
            .await?
            .0,
        200
    );
    let (_, filter) = ask(running.admin, "GET", "/log-level", "").await?;
    assert!(filter.contains("journeyman_bus=debug"), "{filter}");
    assert_eq!(ask(running.admin, "PUT", "/log-level", "a=b=c").await?.0, 400);
    Ok(())
}

#[test]
fn configuration_is_checked_and_dumped() -> Result<()> {
    let good = smallest().arg("--check-config").output()?;
    assert_eq!(good.status.code(), Some(0), "{}", stderr(&good));
    let dump = smallest()
        .arg("--dump-config")
        .env("JOURNEYMAN__SMALLEST__SLOTS", "9")
        .output()?;
    let text = String::from_utf8(dump.stdout)?;
    assert!(
        text.contains("[smallest]\nslots = 9\n") && text.contains("[redis]\n"),
        "{text}"
    );

    let directory = tempfile::tempdir()?;
    let file = directory.path().join("smallest.toml");
    std::fs::write(&file, "[smallest]\nslots = 2\nslotz = 3\n")?;
    let bad = smallest()
        .arg("--check-config")
        .arg("--config")
        .arg(&file)
        .output()?;
    assert_eq!(bad.status.code(), Some(1));
    let text = stderr(&bad);
    assert!(
        text.contains("line 3") && text.contains("`slotz`") && text.contains("`slots`"),
        "{text}"
    );
    let zero = smallest().env("JOURNEYMAN__SMALLEST__SLOTS", "0").output()?;
    assert_eq!(
        stderr(&zero),
        "journeyman-smallest: `smallest.slots` is `0`: it must be at least 1\n"
    );
    Ok(())
}

#[test]
fn port_in_use_is_said_before_anything_else() -> Result<()> {
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let listen = taken.local_addr()?.to_string();
    let output = smallest().env("JOURNEYMAN__ADMIN__LISTEN", &listen).output()?;
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.contains(&format!("admin port `{listen}` can't be opened")),
        "{text}"
    );
    assert!(
        text.contains("`admin.listen`") && text.contains("in use"),
        "{text}"
    );
    Ok(())
}

#[tokio::test]
async fn wrong_or_missing_redis_is_said_with_its_mend() -> Result<()> {
    let desk = Desk::open().await?;
    let evicting = RedisServer::with_policy("allkeys-lru")?;
    let output = smallest()
        .env("JOURNEYMAN__NATS__URL", desk.nats.url())
        .env("JOURNEYMAN__REDIS__URL", evicting.url())
        .output()?;
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains("config set maxmemory-policy noeviction"), "{text}");

    let output = smallest()
        .env("JOURNEYMAN__NATS__URL", desk.nats.url())
        .env("JOURNEYMAN__REDIS__URL", "unix:///nowhere/redis.sock")
        .output()?;
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.contains("no store at `unix:///nowhere/redis.sock`: redis is not available"),
        "{text}"
    );
    Ok(())
}
