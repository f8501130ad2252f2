//! A service inside another process, for tests.

use std::{future::Future, net::SocketAddr};

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{Context, Metrics, Readiness, ServiceConfig, life::Life, log::LogLevel};

/// A running service. Dropping it leaves it running until the runtime ends.
#[derive(Debug)]
pub struct InProcess {
    /// Where its admin port is.
    pub admin: SocketAddr,
    /// Its metrics.
    pub metrics: Metrics,
    /// Whether it takes work.
    pub ready: Readiness,
    stop: CancellationToken,
    kill: CancellationToken,
    running: JoinHandle<anyhow::Result<()>>,
}

impl InProcess {
    /// Starts a service with `config` as it is: no arguments, no environment, no signals, no logging of its own.
    /// It connects by itself; wait for [`Readiness::wait`].
    #[expect(clippy::disallowed_methods, reason = "the service is a task of its host")]
    pub async fn start<C, F, Fut>(name: &'static str, config: C, run: F) -> anyhow::Result<Self>
    where
        C: ServiceConfig,
        F: FnOnce(Context<C>) -> Fut + Send + 'static,
        Fut: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let (life, admin) = Life::bind(name, config).await?;
        let (address, metrics, ready) = (life.address, life.metrics.clone(), life.ready.clone());
        let (stop, kill) = (life.stop.clone(), life.kill.clone());
        let running = tokio::spawn(life.live(admin, LogLevel::none(), run));
        Ok(Self {
            admin: address,
            metrics,
            ready,
            stop,
            kill,
            running,
        })
    }

    /// Stops it as SIGTERM would, and waits. The service's own error, if it had one.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.stop.cancel();
        self.running.await?
    }

    /// Ends it in the middle of what it does, as a crash would.
    pub async fn kill(self) {
        self.kill.cancel();
        // Its error says that it was killed.
        let _killed = self.running.await;
    }

    /// Waits until it ends by itself.
    pub async fn join(self) -> anyhow::Result<()> {
        self.running.await?
    }
}
