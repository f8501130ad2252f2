//! The grader: scores submissions against hidden answers, and commits each rollout's reward once.
//!
//! It is the only service that reads the answers. The score on the reward half goes into the end of the rollout; the
//! score on the report half goes to a place of its own, which only final reports read.

pub mod config;
mod grade;
mod output;
mod reward;
mod tasks;

use std::sync::Arc;

use journeyman_schemas::job::GradeJob;
use journeyman_service::Context;

use crate::{config::Config, grade::Grader};

/// The service's name.
pub const NAME: &str = "journeyman-grader";

/// Grades until the service stops.
pub async fn run(ctx: Context<Config>) -> anyhow::Result<()> {
    let slots = ctx.config.grader.slots;
    let grader = Arc::new(Grader::new(&ctx));
    grader.tasks.load_prepared().await;
    ctx.status.doing("grading");
    ctx.work::<GradeJob, _, _>(slots, move |envelope, attempt| {
        let grader = grader.clone();
        async move { grader.handle(envelope, attempt).await }
    })
    .await
}

#[cfg(test)]
mod tests;
