//! Waiting for a level, not for an edge.

use std::{
    future::Future,
    panic::Location,
    time::{Duration, Instant},
};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until `look` sees what it looks for.
///
/// # Panics
/// With the caller's place when it has not after `timeout`, which fails the test.
#[track_caller]
pub fn eventually<F, Fut>(timeout: Duration, mut look: F) -> impl Future<Output = ()>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = bool>,
{
    let place = Location::caller();
    let started = Instant::now();
    async move {
        while !look().await {
            assert!(started.elapsed() < timeout, "{place}: not within {timeout:?}");
            tokio::time::sleep(PAUSE).await;
        }
    }
}
