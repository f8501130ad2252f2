//! Waits out the outages of NATS and Redis: what the trainer does is idempotent, so it tries until it succeeds.

use std::{future::Future, time::Duration};

use journeyman_bus::BusError;
use journeyman_service::Clock;
use journeyman_store::StoreError;
use tokio_util::sync::CancellationToken;

const FIRST_DELAY: Duration = Duration::from_millis(250);
const LONGEST_DELAY: Duration = Duration::from_secs(5);

/// A failure of the bus or the store.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// Of the bus.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// Of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The trainer was told to stop while it waited.
    #[error("stopped")]
    Stopped,
}

impl Trouble {
    fn passes(&self) -> bool {
        match self {
            Trouble::Bus(error) => {
                matches!(error, BusError::Unavailable { .. } | BusError::Unreachable { .. })
            }
            Trouble::Store(error) => error.code().retry(),
            Trouble::Stopped => false,
        }
    }
}

/// Repeats `operation` while its failure is one that passes, with growing delays; `what` is for the log.
pub(crate) async fn patiently<T, F>(
    what: &str,
    clock: &Clock,
    stop: &CancellationToken,
    mut operation: impl FnMut() -> F,
) -> Result<T, Trouble>
where
    F: Future<Output = Result<T, Trouble>>,
{
    let mut delay = FIRST_DELAY;
    loop {
        let trouble = match operation().await {
            Ok(value) => return Ok(value),
            Err(trouble) if trouble.passes() => trouble,
            Err(trouble) => return Err(trouble),
        };
        tracing::warn!("{what}: {trouble}; again in {} ms", delay.as_millis());
        tokio::select! {
            biased;
            () = stop.cancelled() => return Err(Trouble::Stopped),
            () = clock.sleep(delay) => {}
        }
        delay = (delay * 2).min(LONGEST_DELAY);
    }
}
