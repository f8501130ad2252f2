//! `journeyman up`: everything on this machine until Ctrl-C.

use std::process::ExitCode;

use anyhow::Result;

use crate::{models, stack};

/// Options of `up`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The model that inference serves.
    #[arg(long, default_value = models::DEFAULT)]
    model: String,
    /// Where its OpenAI-compatible API listens.
    #[arg(long, default_value = "127.0.0.1:8080")]
    http: String,
}

/// Starts the stack, says where it is, waits for Ctrl-C, stops it.
pub(crate) async fn run(options: Options) -> Result<ExitCode> {
    let model = models::installed(&options.model)?;
    let mut stack = stack::Stack::start(&model, &options.http).await?;
    println!("NATS       {}", stack.addresses().nats);
    println!("Redis      {}", stack.addresses().redis);
    println!("inference  http://{}/v1  (model {})", options.http, model.id);
    println!("logs       {}", stack::logs().display());
    println!("Ctrl-C stops all of it");
    let result = stack.supervise(stack::interrupted()).await;
    stack.stop().await;
    result.map(|()| ExitCode::SUCCESS)
}
