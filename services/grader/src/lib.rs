//! The grader: scores submissions against hidden answers, and commits each rollout's reward once.
//!
//! It is the only service that reads the answers. The score on the reward half goes into the end of the rollout; the
//! score on the report half goes to a place of its own, which only final reports read. Beside that it tells whether a
//! submission is well formed, from public facts alone.
//!
//! It keeps nothing but the tasks: any replica can take any job.

pub mod config;
mod grade;
mod http;
mod judge;
mod output;
mod reward;
mod tasks;
mod validate;

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use journeyman_schemas::{VALIDATE_SUBJECT, job::GradeJob};
use journeyman_service::Context;
use tokio::net::TcpListener;

use crate::{config::Config, grade::Grader, http::Front, judge::Judge, tasks::Tasks, validate::Validator};

/// The service's name.
pub const NAME: &str = "journeyman-grader";

/// Grades until the service stops.
pub async fn run(ctx: Context<Config>) -> anyhow::Result<()> {
    let section = ctx.config.grader.clone();
    let listen = &section.validate.listen;
    let listener = TcpListener::bind(listen)
        .await
        .with_context(|| format!("`grader.validate.listen` = `{listen}` can't be bound"))?;
    let address = listener.local_addr()?;
    tracing::info!(%address, "validation endpoint is at http://{address}/validate?task=NAME");
    ctx.status.number("http_port", f64::from(address.port()));

    let tasks = Arc::new(Tasks::new(section.tasks_dir()));
    tasks.load_prepared().await;
    // One for each, so that a slow upload to the validation endpoint keeps no memory from gradings.
    let grader = Arc::new(Grader::new(&ctx, tasks.clone(), Judge::new(&section)));
    let validator = Arc::new(Validator::new(&ctx, tasks, Judge::new(&section)));

    let slots = section.validate.slots;
    let router = Front::new(validator.clone(), ctx.observer.clone(), slots).router();
    let stop = ctx.stop.clone();
    ctx.tasks.spawn("http", async move {
        axum::serve(
            listener,
            router.into_make_service_with_connect_info::<SocketAddr>(),
        )
        .with_graceful_shutdown(async move { stop.cancelled().await })
        .await
    });
    let listening = ctx.bus.listen(VALIDATE_SUBJECT.to_owned()).await?;
    let (stop, observer) = (ctx.stop.clone(), ctx.observer.clone());
    ctx.tasks.spawn("validate", async move {
        let answer = move |envelope| {
            let validator = validator.clone();
            async move { validator.answer(envelope).await }
        };
        listening.serve(slots, stop, observer, answer).await
    });

    ctx.status.doing("grading");
    ctx.work::<GradeJob, _, _>(section.slots, move |envelope, attempt| {
        let grader = grader.clone();
        async move { grader.handle(envelope, attempt).await }
    })
    .await
}

#[cfg(test)]
mod tests;
