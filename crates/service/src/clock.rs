//! Time, so that tests can hold it in their hands.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tokio::sync::watch;

/// Where time comes from.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System {
        start: Instant,
    },
    Manual {
        start: Duration,
        now: Arc<watch::Sender<Duration>>,
    },
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(Source::System {
            start: Instant::now(),
        })
    }

    /// A clock that stands at `start_ms` (milliseconds since the Unix epoch) until [`Clock::advance`].
    pub fn manual(start_ms: u64) -> Self {
        let start = Duration::from_millis(start_ms);
        Self(Source::Manual {
            start,
            now: Arc::new(watch::Sender::new(start)),
        })
    }

    /// Moves a manual clock on; the machine's own clock can't be moved.
    pub fn advance(&self, by: Duration) {
        if let Source::Manual { now, .. } = &self.0 {
            now.send_modify(|now| *now += by);
        }
    }

    /// Milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> i64 {
        let now = match &self.0 {
            Source::System { .. } => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            Source::Manual { now, .. } => *now.borrow(),
        };
        i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
    }

    /// Time since this clock was made; never goes back.
    pub fn elapsed(&self) -> Duration {
        match &self.0 {
            Source::System { start } => start.elapsed(),
            Source::Manual { start, now } => now.borrow().saturating_sub(*start),
        }
    }

    /// Waits.
    pub async fn sleep(&self, duration: Duration) {
        match &self.0 {
            Source::System { .. } => tokio::time::sleep(duration).await,
            Source::Manual { now, .. } => {
                let mut now = now.subscribe();
                let end = *now.borrow() + duration;
                // The sender lives in `self`, so waiting can't fail.
                let _passed = now.wait_for(|now| *now >= end).await;
            }
        }
    }
}

#[cfg(test)]
mod tests;
