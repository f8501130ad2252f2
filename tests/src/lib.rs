//! A whole pipeline in one process: real NATS, real Redis, real services, a scripted model.

use std::time::Duration;

use anyhow::Result;
use journeyman_bus::{Bus, job_id};
use journeyman_schemas::{
    Stage,
    envelope::Envelope,
    event::GroupState,
    execution::Limits,
    fault::Fault,
    generate::{Generate, Sampling},
    ids::{ContentHash, ModelId, RolloutKey, RunId, TaskId},
    job::{Generation, ImplementJob, InstrumentRule, Policy, State, Work},
    reward::RewardRule,
};
use journeyman_service::{
    InProcess, ServiceConfig,
    config::{AdminSection, NatsSection, RedisSection},
    new_traceparent,
};
use journeyman_store::{GroupRecord, OpenGroup, Store, StoreConfig};
use journeyman_testkit::{NatsServer, RedisServer, ScriptedLm, eventually};

/// How long a group may take in a test; real programs import pandas, on a machine that does other things too.
pub const GROUP_TIMEOUT: Duration = Duration::from_secs(240);

/// Services of the pipeline, in the order of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Writes programs.
    Implementer,
    /// Adds markers.
    Instrumenter,
    /// Runs programs.
    Sandbox,
    /// Scores them.
    Grader,
}

impl Part {
    /// Every one.
    pub const ALL: [Part; 4] = [Part::Implementer, Part::Instrumenter, Part::Sandbox, Part::Grader];
}

/// A running pipeline.
pub struct Pipeline {
    /// The NATS server.
    pub nats: NatsServer,
    /// The Redis server.
    pub redis: RedisServer,
    /// A connection of the test's own.
    pub bus: Bus,
    /// A connection of the test's own.
    pub store: Store,
    /// The run that its jobs belong to.
    pub run: RunId,
    services: Vec<(Part, InProcess)>,
    _lm: ScriptedLm,
    spool: tempfile::TempDir,
}

impl Pipeline {
    /// Starts everything; sample `i` of a group is answered with `script(i)`.
    pub async fn start(script: impl Fn(u32) -> String + Send + Sync + 'static) -> Result<Self> {
        let (nats, redis) = (NatsServer::start()?, RedisServer::start()?);
        let bus = Bus::connect(&nats.config("test")).await?;
        bus.ensure_streams().await?;
        let store = Store::connect(&StoreConfig::new(redis.url())).await?;
        let answer = move |_: &Generate, sample: u32| Ok::<String, Fault>(script(sample));
        let lm = ScriptedLm::start(&bus, &model()?, answer);
        let spool = tempfile::Builder::new().prefix("jm-spool-").tempdir()?;
        let run = RunId::new("pipeline")?;
        let mut pipeline = Self {
            nats,
            redis,
            bus,
            store,
            run,
            services: Vec::new(),
            _lm: lm,
            spool,
        };
        for part in Part::ALL {
            pipeline.start_part(part).await?;
        }
        Ok(pipeline)
    }

    /// Starts one service more.
    pub async fn start_part(&mut self, part: Part) -> Result<()> {
        let (nats, redis) = (self.nats.url(), self.redis.url());
        let service = match part {
            Part::Implementer => {
                let mut config = journeyman_implementer::config::Config::default();
                connect(
                    &mut config.nats,
                    &mut config.redis,
                    &mut config.admin,
                    &nats,
                    &redis,
                );
                start(journeyman_implementer::NAME, config, journeyman_implementer::run).await?
            }
            Part::Instrumenter => {
                let mut config = journeyman_instrumenter::config::Config::default();
                connect(
                    &mut config.nats,
                    &mut config.redis,
                    &mut config.admin,
                    &nats,
                    &redis,
                );
                start(
                    journeyman_instrumenter::NAME,
                    config,
                    journeyman_instrumenter::run,
                )
                .await?
            }
            Part::Sandbox => {
                let mut config = journeyman_sandbox::config::Config::default();
                connect(
                    &mut config.nats,
                    &mut config.redis,
                    &mut config.admin,
                    &nats,
                    &redis,
                );
                config.sandbox.spool = self.spool.path().to_owned();
                start(journeyman_sandbox::NAME, config, journeyman_sandbox::run).await?
            }
            Part::Grader => {
                let mut config = journeyman_grader::config::Config::default();
                connect(
                    &mut config.nats,
                    &mut config.redis,
                    &mut config.admin,
                    &nats,
                    &redis,
                );
                start(journeyman_grader::NAME, config, journeyman_grader::run).await?
            }
        };
        self.services.push((part, service));
        Ok(())
    }

    /// Ends a service in the middle of what it does and starts another in its place.
    pub async fn replace(&mut self, part: Part) -> Result<()> {
        if let Some(index) = self.services.iter().position(|(other, _)| *other == part) {
            self.services.swap_remove(index).1.kill().await;
        }
        self.start_part(part).await
    }

    /// Opens a group and queues its jobs, as the trainer does.
    pub async fn dispatch(&self, group: u64, size: u32) -> Result<()> {
        let deadline_ms = now_ms() + 300_000;
        let opened = OpenGroup {
            run: self.run.clone(),
            group,
            size,
            deadline_ms,
            policy: Policy::Implementer,
            policy_version: 0,
            meta: serde_json::json!({}),
        };
        self.store.open_group(&opened).await?;
        for rollout in 0..size {
            let key = RolloutKey {
                run: self.run.clone(),
                group,
                rollout,
            };
            let id = job_id(&key, Stage::Implement, 1);
            let job = implement_job(group, rollout)?;
            self.bus
                .enqueue(&Envelope::new(
                    id,
                    Some(key),
                    1,
                    deadline_ms,
                    new_traceparent(),
                    job,
                ))
                .await?;
        }
        Ok(())
    }

    /// How many ends of the group are recorded.
    pub async fn ends(&self, group: u64) -> usize {
        let record = self.store.group(&self.run, group).await;
        record
            .ok()
            .flatten()
            .map_or(0, |record| record.ends.iter().flatten().count())
    }

    /// Waits until the group has ended.
    pub async fn ended(&self, group: u64) -> Result<GroupRecord> {
        eventually(GROUP_TIMEOUT, || async {
            let record = self.store.group(&self.run, group).await;
            record
                .ok()
                .flatten()
                .is_some_and(|record| record.state != GroupState::Open)
        })
        .await;
        let record = self.store.group(&self.run, group).await?;
        record.ok_or_else(|| anyhow::anyhow!("group {group} is gone"))
    }
}

async fn start<C, F, Fut>(name: &'static str, config: C, run: F) -> Result<InProcess>
where
    C: ServiceConfig,
    F: FnOnce(journeyman_service::Context<C>) -> Fut + Send + 'static,
    Fut: Future<Output = Result<()>> + Send + 'static,
{
    let service = InProcess::start(name, config, run).await?;
    service.ready.wait().await;
    Ok(service)
}

fn connect(
    nats: &mut NatsSection,
    redis: &mut RedisSection,
    admin: &mut AdminSection,
    nats_url: &str,
    redis_url: &str,
) {
    nats.url = nats_url.to_owned();
    redis.url = redis_url.to_owned();
    *admin = AdminSection::local(0);
}

fn implement_job(group: u64, rollout: u32) -> Result<ImplementJob> {
    Ok(ImplementJob {
        work: Work {
            task: TaskId::new("mlc-churn")?,
            policy: Policy::Implementer,
            policy_version: 0,
            state: State::Scratch,
            reward: RewardRule::Score {
                invalid: -10.0,
                marker: 0.1,
            },
            completion: None,
            collect: false,
        },
        generation: Generation {
            model: model()?,
            adapter: Some(ContentHash::of(b"adapter")),
            sampling: Sampling::training(4000, group, rollout),
        },
        idea: None,
        limits: Limits {
            wall_s: 60.0,
            memory_bytes: 2 << 30,
            pids: 64,
            output_bytes: 64 << 10,
            disk_bytes: 64 << 20,
        },
        instrument: InstrumentRule {
            model: None,
            model_share: 0.0,
        },
    })
}

fn model() -> Result<ModelId> {
    Ok(ModelId::new("scripted")?)
}

fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}
