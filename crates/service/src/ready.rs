//! Readiness: a service takes work once nothing holds it back any more.

use std::{collections::BTreeSet, sync::Arc};

use tokio::sync::watch;

/// What holds a service back. It is held by its start until [`Readiness::open`].
#[derive(Clone, Debug)]
pub struct Readiness(Arc<watch::Sender<BTreeSet<&'static str>>>);

const START: &str = "start";
const STOP: &str = "stop";

impl Readiness {
    /// Held by the start.
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(BTreeSet::from([START]))))
    }

    /// The service has started. A service that never says so is never ready; [`Context::work`](crate::Context::work)
    /// and [`Context::serve`](crate::Context::serve) say it.
    pub fn open(&self) {
        self.release(START);
    }

    /// Something is missing: `what` is shown to who asks why.
    pub fn hold(&self, what: &'static str) {
        self.0.send_if_modified(|held| held.insert(what));
    }

    /// It is there (again).
    pub fn release(&self, what: &'static str) {
        self.0.send_if_modified(|held| held.remove(what));
    }

    /// Holds while `missing`, else releases.
    pub fn hold_if(&self, missing: bool, what: &'static str) {
        if missing {
            self.hold(what)
        } else {
            self.release(what)
        }
    }

    /// No more work is taken, for good.
    pub(crate) fn stop(&self) {
        self.hold(STOP);
    }

    /// Whether nothing holds.
    pub fn is_ready(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// What holds.
    pub fn held_by(&self) -> Vec<&'static str> {
        self.0.borrow().iter().copied().collect()
    }

    /// Waits until nothing holds.
    pub async fn wait(&self) {
        let mut held = self.0.subscribe();
        // The sender lives in `self`, so waiting can't fail.
        let _open = held.wait_for(BTreeSet::is_empty).await;
    }
}
