//! The implementer: builds prompts, has a model write programs, and takes the programs out of what it wrote.

pub mod config;
pub mod extract;
mod handler;
pub mod prompt;

use std::sync::Arc;

use journeyman_service::Context;
use journeyman_tasks::shelf::Shelf;

use crate::{config::Config, handler::Handler, prompt::Prompts};

/// Name of the service.
pub const NAME: &str = "journeyman-implementer";

/// Works the stage `implement` until the service stops.
pub async fn run(ctx: Context<Config>) -> anyhow::Result<()> {
    let handler = Handler {
        prompts: Arc::new(Prompts::new()?),
        shelf: Arc::new(Shelf::new(ctx.config.implementer.tasks())),
        ctx: ctx.clone(),
    };
    ctx.work(ctx.config.implementer.slots, move |job, attempt| {
        let handler = handler.clone();
        async move { handler.implement(job, attempt).await }
    })
    .await
}
