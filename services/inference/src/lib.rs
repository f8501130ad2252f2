//! The language-model server: `jm.lm.<model>.generate` and an OpenAI-compatible port over one engine.
//!
//! Life of a request: [`handler::Answerer`] checks it, renders and encodes the prompt, finds the adapter; the
//! [`engine::Engine`] draws the samples, many requests in one batch; the reply says what was really used.

pub mod adapters;
pub mod config;
pub mod engine;
pub mod error;
#[cfg(test)]
mod fixtures;
pub mod handler;
pub mod http;
mod meter;
#[cfg(test)]
mod tests;

use std::{str::FromStr, sync::Arc, time::Instant};

use anyhow::Context as _;
use futures::future::BoxFuture;
use journeyman_bus::{Bus, BusError, EventsFrom};
use journeyman_lm::{LanguageModel, device::Device};
use journeyman_schemas::{
    ADAPTERS_BUCKET,
    envelope::Envelope,
    event::AdapterPublished,
    fault::{Fault, FaultCode},
    generate::{Generate, Generated},
    generate_subject,
    ids::{ContentHash, RunId},
};
use journeyman_service::{Context, Metric};
use tokio::{net::TcpListener, sync::broadcast};

use adapters::{AdapterSource, Adapters};
use config::Config;
use engine::Engine;
use handler::Answerer;
use http::Front;

/// The service's name.
pub const NAME: &str = "journeyman-inference";

/// Cancelled runs that a slow handler may lag behind.
const CANCELS: usize = 64;

/// Serves until the context stops.
///
/// # Errors
/// A port in use, a model that can't be loaded, NATS gone for good.
pub async fn run(ctx: Context<Config>) -> anyhow::Result<()> {
    let own = ctx.config.inference.clone();
    let listener = TcpListener::bind(&own.http.listen)
        .await
        .with_context(|| format!("`inference.http.listen` = `{}` can't be bound", own.http.listen))?;
    let address = listener.local_addr()?;
    tracing::info!(%address, "OpenAI-compatible API is at http://{address}");
    ctx.status.number("http_port", f64::from(address.port()));
    let front = Front::new(own.http.clone(), ctx.observer.clone());
    let (router, stop) = (front.router(), ctx.stop.clone());
    ctx.tasks.spawn("http", async move {
        axum::serve(listener, router)
            .with_graceful_shutdown(async move { stop.cancelled().await })
            .await
    });

    ctx.status.doing(format!("loading {}", own.model.path.display()));
    let answerer = Arc::new(load(&ctx).await?);
    front.open(answerer.clone());
    ctx.status.doing("idle");
    ctx.tasks
        .spawn("meter", meter::watch(ctx.clone(), answerer.clone()));
    ctx.tasks
        .spawn("adapters", follow_adapters(ctx.clone(), answerer.clone()));
    let (cancels, _) = broadcast::channel(CANCELS);
    ctx.tasks
        .spawn("cancels", follow_cancels(ctx.clone(), cancels.clone()));

    let subject = generate_subject(&own.model.id);
    let slots = own.engine.max_rows + own.engine.max_waiting;
    let clock = ctx.clock.clone();
    ctx.serve(subject, slots, move |envelope: Envelope<Generate>| {
        let (answerer, cancels, now_ms) = (answerer.clone(), cancels.subscribe(), clock.now_ms());
        answer(answerer, cancels, envelope, now_ms)
    })
    .await
}

/// Loads the model and starts the engine.
async fn load(ctx: &Context<Config>) -> anyhow::Result<Answerer> {
    let own = ctx.config.inference.clone();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(own.engine.threads)
        .build_global();
    if pool.is_err() {
        tracing::warn!("the thread pool is there already; `inference.engine.threads` has no effect");
    }
    let device = Device::from_str(&own.model.device)?;
    let (path, started) = (own.model.path.clone(), Instant::now());
    let lm = tokio::task::spawn_blocking(move || LanguageModel::load(&path, &device)).await?;
    let lm = Arc::new(lm.with_context(|| format!("model `{}` can't be loaded", own.model.path.display()))?);
    let seconds = started.elapsed().as_secs_f64();
    tracing::info!(model = %own.model.id, sha256 = lm.sha256, seconds, "model `{}` is loaded", own.model.id);
    let source = Arc::new(BusSource(ctx.bus.clone()));
    let adapters = Adapters::new(lm.clone(), source, own.engine.adapters_kept);
    let meter = Arc::new(meter::MetricsMeter(ctx.metrics.clone()));
    let engine = Engine::start(lm.clone(), &own.engine, meter)?;
    Ok(Answerer::new(own.model.id, lm, adapters, engine, &own.engine))
}

/// One request from NATS; ends early when its run is cancelled.
async fn answer(
    answerer: Arc<Answerer>,
    cancels: broadcast::Receiver<RunId>,
    envelope: Envelope<Generate>,
    now_ms: i64,
) -> Result<Generated, Fault> {
    let left_ms = u64::try_from(envelope.deadline_ms - now_ms).unwrap_or(0);
    let deadline = Instant::now() + std::time::Duration::from_millis(left_ms);
    let run = envelope.key.map(|key| key.run);
    tokio::select! {
        biased;
        generated = answerer.generate(envelope.body, deadline) => Ok(generated?),
        run = cancelled(cancels, run) => {
            Err(Fault::new(FaultCode::Cancelled, format!("run `{run}` was cancelled")))
        }
    }
}

/// Waits until `run` is cancelled; for ever without one.
async fn cancelled(mut cancels: broadcast::Receiver<RunId>, run: Option<RunId>) -> RunId {
    let Some(run) = run else {
        return std::future::pending().await;
    };
    loop {
        match cancels.recv().await {
            Ok(cancelled) if cancelled == run => return run,
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return std::future::pending().await,
        }
    }
}

async fn follow_cancels(ctx: Context<Config>, cancels: broadcast::Sender<RunId>) -> Result<(), BusError> {
    let mut notices = ctx.bus.subscribe_cancels().await?;
    loop {
        tokio::select! {
            biased;
            () = ctx.stop.cancelled() => return Ok(()),
            notice = notices.next() => match notice {
                // Nobody listens when no request is under way.
                Some(cancel) => drop(cancels.send(cancel.run)),
                None => return Ok(()),
            },
        }
    }
}

/// Loads each new policy version, so that the first request for it need not wait. A version that can't be loaded is
/// tried again when a request names it.
async fn follow_adapters(ctx: Context<Config>, answerer: Arc<Answerer>) -> Result<(), BusError> {
    let mut events = ctx
        .bus
        .subscribe_events::<AdapterPublished>(None, EventsFrom::Now)
        .await?;
    loop {
        let event = tokio::select! {
            biased;
            () = ctx.stop.cancelled() => return Ok(()),
            event = events.next() => event,
        };
        if event.model != answerer.model {
            continue;
        }
        let loaded = answerer.adapters.publish(&event).await;
        ctx.metrics.count(
            Metric::AdapterLoads,
            &[if loaded.is_ok() { "ok" } else { "failed" }],
        );
        match loaded {
            Ok(_) => {
                tracing::info!(run = %event.run, version = event.version, "policy version {} is loaded", event.version)
            }
            Err(fault) => {
                tracing::warn!(run = %event.run, version = event.version, %fault, "policy version {} can't be loaded", event.version)
            }
        }
    }
}

/// Adapter files from the object store.
struct BusSource(Bus);

impl AdapterSource for BusSource {
    fn fetch<'a>(&'a self, hash: &'a ContentHash) -> BoxFuture<'a, Result<Vec<u8>, Fault>> {
        Box::pin(async move {
            self.0
                .get_object(ADAPTERS_BUCKET, hash.as_str())
                .await
                .map_err(|error| match error {
                    BusError::NoObject { .. } => {
                        let message = format!(
                            "adapter `{hash}` is unknown: it is not in the bucket `{ADAPTERS_BUCKET}`"
                        );
                        Fault::new(FaultCode::NotFound, message)
                    }
                    error => Fault::new(
                        FaultCode::Unavailable,
                        format!("adapter `{hash}` can't be fetched: {error}"),
                    ),
                })
        })
    }
}
