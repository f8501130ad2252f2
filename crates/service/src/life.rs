//! The life of a service: bind, connect, run, stop.

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context as _;
use journeyman_bus::{Bus, BusConfig};
use journeyman_store::{Store, StoreConfig};
use tokio_util::sync::CancellationToken;

use crate::{
    Clock, Context, Ends, Metric, Metrics, Readiness, ServiceConfig, Status, Tasks,
    admin::Admin,
    config::Sections,
    failure::chain,
    give_up::Failing,
    log::LogLevel,
    observer::{Counting, seconds},
};

/// Between two signs of life.
const HEARTBEAT_PERIOD: Duration = Duration::from_secs(3);

/// A service that is bound but not yet connected.
pub(crate) struct Life<C> {
    pub(crate) name: &'static str,
    pub(crate) config: C,
    pub(crate) address: SocketAddr,
    pub(crate) metrics: Metrics,
    pub(crate) ready: Readiness,
    pub(crate) stop: CancellationToken,
    pub(crate) kill: CancellationToken,
}

impl<C: ServiceConfig> Life<C> {
    /// Binds the admin port, so that a port in use is known before anything else.
    pub(crate) async fn bind(name: &'static str, config: C) -> anyhow::Result<(Self, Admin)> {
        let admin = Admin::bind(&config.sections().admin.listen).await?;
        let metrics = Metrics::new(name, C::STAGES).context("metrics can't be made")?;
        let life = Self {
            name,
            config,
            address: admin.address,
            metrics,
            ready: Readiness::new(),
            stop: CancellationToken::new(),
            kill: CancellationToken::new(),
        };
        Ok((life, admin))
    }

    /// Runs to the end: the service's own, or a stop and the grace period.
    pub(crate) async fn live<F, Fut>(self, admin: Admin, log: LogLevel, run: F) -> anyhow::Result<()>
    where
        F: FnOnce(Context<C>) -> Fut + Send,
        Fut: Future<Output = anyhow::Result<()>> + Send,
    {
        let name = self.name;
        tracing::info!(name, version = env!("CARGO_PKG_VERSION"), admin = %self.address, config = ?self.config, "{name} starts");
        let kill = self.kill.clone();
        let answer = admin.answer(self.metrics.clone(), self.ready.clone(), log);
        let whole = async {
            let connected = tokio::select! {
                biased;
                () = self.stop.cancelled() => return Ok(()),
                connected = connect(name, self.config.sections()) => connected?,
            };
            run_to_end(self.assemble(connected), run).await
        };
        tokio::select! {
            biased;
            () = kill.cancelled() => Err(anyhow::anyhow!("{name} was killed")),
            result = whole => result,
            result = answer => result,
        }
    }

    fn assemble(self, (bus, store): (Bus, Store)) -> Context<C> {
        let Self {
            name,
            config,
            address,
            metrics,
            ready,
            stop,
            kill,
        } = self;
        let clock = Clock::system();
        metrics.set(Metric::StartTime, &[], seconds(&clock));
        let status = Status::default();
        let instance = config.sections().service.instance.clone();
        status.change(|status| {
            status.service = name.to_owned();
            status.instance = if instance.is_empty() {
                std::process::id().to_string()
            } else {
                instance
            };
            status.admin = address.to_string();
            status.started_ms = clock.now_ms();
        });
        let ends = Ends::new(store.clone(), bus.clone(), metrics.clone());
        let observer = Counting {
            metrics: metrics.clone(),
            status: status.clone(),
            clock: clock.clone(),
        };
        let give_up = Failing {
            store: store.clone(),
            bus: bus.clone(),
            ends: ends.clone(),
            metrics: metrics.clone(),
        };
        Context {
            config,
            bus,
            store,
            metrics,
            clock,
            tasks: Tasks::new(stop.clone(), kill),
            stop,
            ready,
            status,
            ends,
            observer: Arc::new(observer),
            give_up: Arc::new(give_up),
            admin: address,
        }
    }
}

async fn connect(name: &'static str, sections: Sections<'_>) -> anyhow::Result<(Bus, Store)> {
    let nats = sections.nats;
    let mut bus = BusConfig::new(&nats.url, name);
    bus.user = Some(nats.user.clone()).filter(|user| !user.is_empty());
    bus.password = nats.password.expose().map(str::to_owned);
    let redis = sections.redis;
    let store = StoreConfig {
        url: redis.url.clone(),
        password: redis.password.expose().map(str::to_owned),
        allow_volatile: redis.allow_volatile,
    };
    let bus = async {
        let bus = Bus::connect(&bus).await?;
        bus.ensure_streams().await?;
        anyhow::Ok(bus)
    };
    let store = async {
        Store::connect(&store)
            .await
            .with_context(|| format!("no store at `{}`", redis.url))
    };
    tokio::try_join!(bus, store)
}

/// Not ready → nothing new is taken → what is under way ends, within the grace period.
async fn run_to_end<C, F, Fut>(context: Context<C>, run: F) -> anyhow::Result<()>
where
    C: ServiceConfig,
    F: FnOnce(Context<C>) -> Fut,
    Fut: Future<Output = anyhow::Result<()>> + Send,
{
    let Context {
        stop, tasks, ready, ..
    } = context.clone();
    let grace = Duration::from_secs_f64(context.config.sections().service.grace_s);
    let beating = context.clone();
    tasks.spawn("heartbeat", async move { beat(beating).await });
    let drained = async {
        let result = run(context.clone()).await;
        ready.stop();
        stop.cancel();
        tasks.wait().await;
        result
    };
    let too_late = async {
        stop.cancelled().await;
        ready.stop();
        tracing::info!("stops: work under way has {} s", grace.as_secs_f64());
        context.clock.sleep(grace).await;
    };
    let result = tokio::select! {
        biased;
        result = drained => result,
        () = too_late => Err(anyhow::anyhow!("work under way did not end within {} s", grace.as_secs_f64())),
    };
    match tasks.failure() {
        Some(failure) => Err(failure),
        None => result,
    }
}

/// Writes signs of life until the stop, and watches the connections.
async fn beat<C: ServiceConfig>(context: Context<C>) -> Result<(), std::convert::Infallible> {
    let Context {
        bus,
        store,
        metrics,
        clock,
        stop,
        ready,
        status,
        ..
    } = context;
    let number = |flag: bool| f64::from(u8::from(flag));
    loop {
        let connected = bus.is_connected();
        let forbidden = bus.permission_errors();
        ready.hold_if(!connected, "nats");
        ready.hold_if(forbidden > 0, "nats permissions");
        metrics.set(Metric::NatsConnected, &[], number(connected));
        metrics.set(Metric::NatsPermissionErrors, &[], forbidden as f64);
        status.change(|status| {
            status.ready = ready.is_ready();
            status.updated_ms = clock.now_ms();
        });
        let now = status.snapshot();
        let written = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            written = store.heartbeat(&now.service, &now.instance, &now) => written,
        };
        if let Err(error) = &written {
            tracing::warn!(error = %chain(error), "sign of life can't be written");
        }
        ready.hold_if(written.is_err(), "redis");
        metrics.set(Metric::RedisConnected, &[], number(written.is_ok()));
        tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            () = clock.sleep(HEARTBEAT_PERIOD) => {}
        }
    }
}
