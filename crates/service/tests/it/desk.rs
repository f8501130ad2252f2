//! Servers, a small service's configuration, and a way to ask its admin port.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context as _, Result};
use journeyman_bus::{Bus, BusConfig, job_id};
use journeyman_schemas::{
    Job, Stage,
    envelope::Envelope,
    ids::{RolloutKey, RunId},
    job::Policy,
};
use journeyman_service::{
    Clock, Context, ServiceConfig,
    config::{AdminSection, NatsSection, RedisSection, Sections, ServiceSection},
    new_traceparent,
};
use journeyman_store::{OpenGroup, Store, StoreConfig};
use journeyman_testkit::{NatsServer, RedisServer};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Nothing in these tests takes this long, unless it never comes.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) struct Desk {
    pub(crate) nats: NatsServer,
    pub(crate) redis: RedisServer,
    pub(crate) bus: Bus,
    pub(crate) store: Store,
}

impl Desk {
    pub(crate) async fn open() -> Result<Self> {
        let (nats, redis) = (NatsServer::start()?, RedisServer::start()?);
        let bus = Bus::connect(&BusConfig::new(nats.url(), "desk")).await?;
        bus.ensure_streams().await?;
        let store = Store::connect(&StoreConfig::new(redis.url())).await?;
        Ok(Self {
            nats,
            redis,
            bus,
            store,
        })
    }

    pub(crate) fn config(&self) -> Config {
        let mut config = Config::default();
        config.nats.url = self.nats.url();
        config.redis.url = self.redis.url();
        config.service.instance = "one".into();
        config
    }

    pub(crate) async fn open_group(&self, group: u64, size: u32) -> Result<()> {
        let group = OpenGroup {
            run: run_id(),
            group,
            size,
            deadline_ms: Clock::system().now_ms() + 600_000,
            policy: Policy::Ideator,
            policy_version: 7,
            meta: serde_json::Value::Null,
        };
        self.store.open_group(&group).await?;
        Ok(())
    }

    pub(crate) async fn enqueue(&self, group: u64, rollout: u32, milliseconds: u64) -> Result<()> {
        let key = RolloutKey {
            run: run_id(),
            group,
            rollout,
        };
        let id = job_id(&key, Stage::Execute, 1);
        let deadline_ms = Clock::system().now_ms() + 600_000;
        let job = Envelope::new(
            id,
            Some(key),
            1,
            deadline_ms,
            new_traceparent(),
            Wait { milliseconds },
        );
        self.bus.enqueue(&job).await?;
        Ok(())
    }
}

pub(crate) fn run_id() -> RunId {
    RunId::new("churn-1").expect("a good run id")
}

/// A job of a real stage: it takes so long. 13 can't be done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Wait {
    pub(crate) milliseconds: u64,
}

impl Job for Wait {
    const STAGE: Stage = Stage::Execute;
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) service: ServiceSection,
    pub(crate) admin: AdminSection,
    pub(crate) nats: NatsSection,
    pub(crate) redis: RedisSection,
}

impl ServiceConfig for Config {
    const STAGES: &'static [Stage] = &[Stage::Execute];

    fn sections(&self) -> Sections<'_> {
        Sections {
            service: &self.service,
            admin: &self.admin,
            nats: &self.nats,
            redis: &self.redis,
        }
    }
}

pub(crate) async fn work(ctx: Context<Config>) -> Result<()> {
    let clock = ctx.clock.clone();
    ctx.work::<Wait, _, _>(2, move |job, _attempt| {
        let clock = clock.clone();
        async move {
            if job.body.milliseconds == 13 {
                return Err(journeyman_bus::JobError::poison("13 can't be done"));
            }
            clock.sleep(Duration::from_millis(job.body.milliseconds)).await;
            Ok(())
        }
    })
    .await
}

/// Status and body of an answer of the admin port.
pub(crate) async fn ask(admin: SocketAddr, method: &str, path: &str, body: &str) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect(admin).await?;
    let head = format!("{method} {path} HTTP/1.1\r\nhost: admin\r\nconnection: close\r\n");
    let request = format!(
        "{head}content-type: text/plain\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let status = answer.split(' ').nth(1).context("no status")?.parse()?;
    Ok((
        status,
        answer.split_once("\r\n\r\n").context("no body")?.1.to_owned(),
    ))
}
