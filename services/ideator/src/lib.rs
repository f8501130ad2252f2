//! The ideator: has a model write ideas for better programs, for rollouts that train it and for whoever seeks help.

pub mod config;
mod handler;
pub mod idea;
pub mod prompt;

use std::sync::Arc;

use journeyman_schemas::ideate_subject;
use journeyman_service::Context;
use journeyman_tasks::shelf::Shelf;

use crate::{config::Config, handler::Handler, prompt::Prompts};

/// Name of the service.
pub const NAME: &str = "journeyman-ideator";

/// Works the stage `ideate` and answers `jm.ideate.<name>` until the service stops.
pub async fn run(ctx: Context<Config>) -> anyhow::Result<()> {
    let section = ctx.config.ideator.clone();
    let handler = Handler {
        prompts: Arc::new(Prompts::new()?),
        shelf: Arc::new(Shelf::new(section.tasks())),
        ctx: ctx.clone(),
    };
    let helper = handler.clone();
    let jobs = ctx.work(section.slots, move |job, attempt| {
        let handler = handler.clone();
        async move { handler.ideate(job, attempt).await }
    });
    let help = ctx.serve(ideate_subject(&section.name), section.slots, move |question| {
        let handler = helper.clone();
        async move { handler.help(question).await }
    });
    tokio::try_join!(jobs, help)?;
    Ok(())
}
