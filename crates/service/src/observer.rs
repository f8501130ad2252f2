//! What the bus tells goes into the metrics and the service's status.

use std::sync::{Arc, Mutex, PoisonError};

use journeyman_bus::{JobOutcome, Observer};
use journeyman_schemas::{Stage, fault::FaultCode};
use journeyman_store::ServiceStatus;

use crate::{Clock, Metric, Metrics};

/// What the service is doing, as `journeyman status` shows it. Written to Redis every few seconds.
#[derive(Clone, Debug, Default)]
pub struct Status(Arc<Mutex<ServiceStatus>>);

impl Status {
    /// What it is doing, in a few words.
    pub fn doing(&self, what: impl Into<String>) {
        self.change(|status| status.doing = what.into());
    }

    /// A further number to show, for example `tokens_per_second`.
    pub fn number(&self, name: &str, value: f64) {
        self.change(|status| {
            status.numbers.insert(name.to_owned(), value);
        });
    }

    /// As it stands.
    pub fn snapshot(&self) -> ServiceStatus {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut ServiceStatus)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Counts what the bus does.
pub(crate) struct Counting {
    pub(crate) metrics: Metrics,
    pub(crate) status: Status,
    pub(crate) clock: Clock,
}

impl Counting {
    fn mark_progress(&self, stage: Stage) {
        self.metrics
            .set(Metric::StageProgressTime, &[stage.as_str()], seconds(&self.clock));
    }
}

/// Now, in seconds since the Unix epoch.
pub(crate) fn seconds(clock: &Clock) -> f64 {
    clock.now_ms() as f64 / 1000.0
}

impl Observer for Counting {
    fn delivered(&self, stage: Stage, redelivered: bool) {
        let labels = [stage.as_str()];
        self.metrics.count(Metric::JobsDelivered, &labels);
        if redelivered {
            self.metrics.count(Metric::JobsRedelivered, &labels);
        }
        self.metrics.add(Metric::JobsInFlight, &labels, 1.0);
        self.status.change(|status| status.busy += 1);
    }

    fn started(&self, stage: Stage) {
        self.mark_progress(stage);
    }

    fn progress(&self, stage: Stage) {
        self.mark_progress(stage);
    }

    fn finished(&self, stage: Stage, outcome: JobOutcome, seconds: f64) {
        let labels = [stage.as_str()];
        self.mark_progress(stage);
        self.metrics
            .count(Metric::JobsFinished, &[stage.as_str(), outcome.as_str()]);
        self.metrics.observe(Metric::JobSeconds, &labels, seconds);
        self.metrics.add(Metric::JobsInFlight, &labels, -1.0);
        self.status.change(|status| {
            status.busy = status.busy.saturating_sub(1);
            status.done += 1;
            status.failed += u64::from(outcome != JobOutcome::Done);
        });
    }

    fn answered(&self, request: &'static str, fault: Option<FaultCode>, seconds: f64) {
        self.metrics.count(
            Metric::Requests,
            &[request, fault.map_or("ok", FaultCode::as_str)],
        );
        self.metrics.observe(Metric::RequestSeconds, &[request], seconds);
        self.status.change(|status| {
            status.done += 1;
            status.failed += u64::from(fault.is_some());
        });
    }
}
