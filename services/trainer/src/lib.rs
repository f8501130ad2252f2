//! Trains the policy: admits groups, waits for their rewards, updates the LoRA weights, publishes the adapter.
//!
//! A step, in the order that makes it crash-safe ([`run::Run::train`]): fill the slots that admission allows, wait
//! until the step's groups ended, read their completions, update, write the checkpoint, tell Redis, publish the
//! adapter. Whatever is repeated after a crash is idempotent; what the checkpoint names as consumed is never trained
//! on again.

pub mod admission;
pub mod checkpoint;
pub mod config;
mod dispatch;
mod draw;
mod files;
mod measure;
mod patience;
mod rollouts;
mod run;
mod update;

use config::Config;
use journeyman_service::Context;

/// The service's name, everywhere.
pub const NAME: &str = "journeyman-trainer";

/// Trains one run to its end, or until the service is stopped; a later start goes on from the last step.
pub async fn run(ctx: Context<Config>) -> anyhow::Result<()> {
    let config = config::load_run(&ctx.config.trainer.run_config)?;
    let stop = ctx.stop.clone();
    let mut run = run::Run::start(ctx, config).await?;
    match run.train().await {
        Err(error) if stop.is_cancelled() => {
            tracing::info!("stopped before the end of the run: {error:#}; start it again to go on");
            Ok(())
        }
        Err(error) => {
            run.fail().await;
            Err(error)
        }
        Ok(()) => Ok(()),
    }
}
