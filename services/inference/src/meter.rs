//! What the engine does, as metrics and as a sentence for `journeyman status`.

use std::{convert::Infallible, sync::Arc, time::Duration};

use journeyman_service::{Context, Metric, Metrics};

use crate::{
    config::Config,
    engine::{Meter, StepReport},
    handler::Answerer,
};

/// Between two looks at the engine.
const PERIOD: Duration = Duration::from_secs(2);

/// Feeds the metrics.
pub(crate) struct MetricsMeter(pub(crate) Metrics);

impl Meter for MetricsMeter {
    fn step(&self, report: &StepReport) {
        self.0.add(Metric::PromptTokens, &[], report.prefilled as f64);
        self.0.add(Metric::PromptTokensReused, &[], report.reused as f64);
        self.0.add(Metric::CompletionTokens, &[], report.generated as f64);
        self.0.observe(Metric::DecodeStepSeconds, &[], report.seconds);
    }

    fn load(&self, rows: usize, waiting: usize, cached: usize) {
        self.0.set(Metric::BatchRows, &[], rows as f64);
        self.0.set(Metric::QueuedRequests, &[], waiting as f64);
        self.0.set(Metric::CacheTokens, &[], cached as f64);
    }
}

/// Tells the status what the engine is doing, until the service stops.
pub(crate) async fn watch(ctx: Context<Config>, answerer: Arc<Answerer>) -> Result<(), Infallible> {
    let totals = answerer.engine.totals();
    let (mut drawn, mut since) = (totals.generated(), ctx.clock.elapsed());
    loop {
        tokio::select! {
            biased;
            () = ctx.stop.cancelled() => return Ok(()),
            () = ctx.clock.sleep(PERIOD) => {}
        }
        let (now, elapsed) = (totals.generated(), ctx.clock.elapsed());
        let rate = (now - drawn) as f64 / (elapsed - since).as_secs_f64().max(f64::MIN_POSITIVE);
        (drawn, since) = (now, elapsed);
        ctx.status.number("tokens_per_second", rate);
        ctx.status.number("rows", totals.rows() as f64);
        ctx.status.number("waiting", totals.waiting() as f64);
        ctx.status.doing(doing(totals.rows(), totals.waiting(), rate));
        ctx.metrics.set(
            Metric::AdaptersLoaded,
            &[],
            answerer.adapters.loaded().len() as f64,
        );
    }
}

fn doing(rows: usize, waiting: usize, rate: f64) -> String {
    match (rows, waiting) {
        (0, _) if rate < 0.5 => "idle".into(),
        (rows, 0) => format!("decoding {rows} rows, {rate:.0} tok/s"),
        (rows, waiting) => format!("decoding {rows} rows, {waiting} requests wait, {rate:.0} tok/s"),
    }
}
