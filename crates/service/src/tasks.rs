//! Background tasks of a service: tracked, waited for, and none fails unseen.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument;

/// Where a service spawns. A task that fails or panics stops the service, which then exits with its error.
#[derive(Clone, Debug)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    kill: CancellationToken,
    failure: Arc<Mutex<Option<anyhow::Error>>>,
}

impl Tasks {
    pub(crate) fn new(stop: CancellationToken, kill: CancellationToken) -> Self {
        Self {
            tracker: TaskTracker::new(),
            stop,
            kill,
            failure: Arc::default(),
        }
    }

    /// Runs `task` beside the service. `name` stands in the log and in the error.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that spawns")]
    pub fn spawn<E>(&self, name: &'static str, task: impl Future<Output = Result<(), E>> + Send + 'static)
    where
        E: Into<anyhow::Error> + Send + 'static,
    {
        let tasks = self.clone();
        let inner = tokio::spawn(task.instrument(tracing::info_span!("task", name)));
        let abort = inner.abort_handle();
        self.tracker.spawn(async move {
            let result = tokio::select! {
                biased;
                () = tasks.kill.cancelled() => {
                    abort.abort();
                    return;
                }
                result = inner => result,
            };
            match result {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tasks.fail(error.into().context(format!("task `{name}` failed"))),
                Err(panic) => {
                    tasks.fail(anyhow::Error::new(panic).context(format!("task `{name}` panicked")))
                }
            }
        });
    }

    fn fail(&self, error: anyhow::Error) {
        self.failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(error);
        self.stop.cancel();
    }

    /// Waits for all tasks; call after `stop`.
    pub(crate) async fn wait(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }

    /// The first failure, if any.
    pub(crate) fn failure(&self) -> Option<anyhow::Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
