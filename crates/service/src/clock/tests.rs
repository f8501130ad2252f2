//! A manual clock stands until it is moved.

use std::time::Duration;

use futures::FutureExt;

use super::Clock;

#[tokio::test]
async fn manual_clock_wakes_sleepers_when_their_time_has_come() {
    let clock = Clock::manual(5_000);
    assert_eq!(clock.now_ms(), 5_000);
    let mut sleeper = Box::pin(clock.sleep(Duration::from_secs(2)));
    assert!(sleeper.as_mut().now_or_never().is_none());
    clock.advance(Duration::from_millis(1_999));
    assert!(sleeper.as_mut().now_or_never().is_none());
    clock.advance(Duration::from_millis(1));
    sleeper.await;
    assert_eq!((clock.now_ms(), clock.elapsed()), (7_000, Duration::from_secs(2)));
}

#[test]
fn system_clock_can_not_be_moved() {
    let clock = Clock::system();
    let before = clock.now_ms();
    clock.advance(Duration::from_secs(3600));
    assert!(clock.now_ms() - before < 3_000_000);
}
