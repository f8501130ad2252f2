//! The instrumenter: adds progress markers to programs. Markers are prints of a secret word that tell how far a program
//! came; everything else stays as it was, which is proved for each program.
//!
//! What is put in is `print("<nonce> <word>", flush=True)` after the statement that takes the step. A program that
//! gives `print` another meaning gets no markers; one that sends its output elsewhere at run time loses them. In
//! both cases credit is lost, never gained.

pub mod config;
mod handler;
pub mod insert;
pub mod instrument;
pub mod print;
pub mod proof;
pub mod proposal;
pub mod sites;
pub mod steps;
pub mod tree;

use journeyman_service::Context;

use crate::{config::Config, handler::Handler};

/// Name of the service.
pub const NAME: &str = "journeyman-instrumenter";

/// Works the stage `instrument` until the service stops.
pub async fn run(ctx: Context<Config>) -> anyhow::Result<()> {
    let handler = Handler { ctx: ctx.clone() };
    ctx.work(ctx.config.instrumenter.slots, move |job, attempt| {
        let handler = handler.clone();
        async move { handler.instrument(job, attempt).await }
    })
    .await
}
