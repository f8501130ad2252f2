//! Deadlines are wall-clock times, milliseconds since the Unix epoch, because they travel between machines.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time left until `deadline_ms`; none when it has passed.
pub(crate) fn left(deadline_ms: i64) -> Option<Duration> {
    let millis = u64::try_from(deadline_ms.saturating_sub(now_ms())).ok()?;
    (millis > 0).then(|| Duration::from_millis(millis))
}

/// Now, milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
