//! The sandbox: runs untrusted programs, measured and limited, and hands what came of them to the grader.
//!
//! [`executor`] runs one program and can be used without the rest; [`run`] is the service around it.

pub mod config;
pub mod executor;
mod handler;

use std::sync::Arc;

use anyhow::Context as _;
use journeyman_schemas::execution::IsolationLevel;
use journeyman_service::{Context, Metric};

use crate::{config::Config, executor::Executor, handler::Handler};

/// Name of the service.
pub const NAME: &str = "journeyman-sandbox";

/// Works the stage `execute` until the service stops. Refuses to start below the configured isolation level.
pub async fn run(ctx: Context<Config>) -> anyhow::Result<()> {
    let config = ctx.config.sandbox.executor();
    let executor = tokio::task::spawn_blocking(move || Executor::new(config))
        .await
        .context("probing the sandbox ended early")?
        .context("the sandbox cannot start")?;
    let level = executor.level();
    let missing = executor.missing().join("; ");
    if level < IsolationLevel::Full {
        tracing::warn!(
            ?level,
            missing,
            "programs are walled in less than they could be: {missing}"
        );
    }
    let number = match level {
        IsolationLevel::None => 0.0,
        IsolationLevel::Namespaces => 1.0,
        IsolationLevel::Full => 2.0,
    };
    ctx.metrics.set(Metric::IsolationLevel, &[], number);
    ctx.status.number("isolation_level", number);
    let slots = ctx.config.sandbox.slots();
    let handler = Handler {
        ctx: ctx.clone(),
        executor: Arc::new(executor),
    };
    ctx.work(slots, move |job, attempt| {
        let handler = handler.clone();
        async move { handler.execute(job, attempt).await }
    })
    .await
}
