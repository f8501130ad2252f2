//! A service as a process: arguments, signals, exit status.

use std::{future::Future, io::Write, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::{Args as _, Command, FromArgMatches};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::{Context, ServiceConfig, config, life::Life, log::LogLevel};

/// What every service understands.
#[derive(clap::Args)]
struct Args {
    /// Configuration file (TOML); the environment (`JOURNEYMAN__SECTION__KEY`) goes over it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Check the configuration and exit.
    #[arg(long)]
    check_config: bool,
    /// Print the whole configuration as TOML and exit; secrets are not shown.
    #[arg(long)]
    dump_config: bool,
}

/// The whole `main` of a service: arguments, configuration, logging, connections, `run`, stop, exit status.
///
/// `run` is called once NATS and Redis are connected; it returns when `ctx.stop` is cancelled or its work is done.
/// SIGINT and SIGTERM stop the service within `service.grace_s`; a second one ends it at once.
pub fn main<C, F, Fut>(name: &'static str, run: F) -> ExitCode
where
    C: ServiceConfig,
    F: FnOnce(Context<C>) -> Fut + Send,
    Fut: Future<Output = anyhow::Result<()>> + Send,
{
    let command = Args::augment_args(Command::new(name).version(env!("CARGO_PKG_VERSION")));
    let matches = command.get_matches();
    let done = Args::from_arg_matches(&matches)
        .map_err(anyhow::Error::from)
        .and_then(|args| act(name, &args, run));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // With standard error gone there is nobody to tell.
            let _told = writeln!(std::io::stderr(), "{name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn act<C, F, Fut>(name: &'static str, args: &Args, run: F) -> anyhow::Result<()>
where
    C: ServiceConfig,
    F: FnOnce(Context<C>) -> Fut + Send,
    Fut: Future<Output = anyhow::Result<()>> + Send,
{
    let config: C = config::load(args.config.as_deref(), std::env::vars())?;
    if args.dump_config {
        let text = toml::to_string_pretty(&config).context("the configuration can't be written as TOML")?;
        write!(std::io::stdout(), "{text}")?;
        return Ok(());
    }
    if args.check_config {
        writeln!(std::io::stdout(), "configuration is good")?;
        return Ok(());
    }
    let log = LogLevel::install(config.sections().service)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("no threads")?;
    let result = runtime.block_on(async {
        let (life, admin) = Life::bind(name, config).await?;
        let stop = life.stop.clone();
        tokio::select! {
            result = life.live(admin, log, run) => result,
            never = obey_signals(stop) => never,
        }
    });
    // What a blocking thread still does is not waited for: the grace period is over.
    runtime.shutdown_background();
    result
}

/// The first signal stops, the second ends the process.
async fn obey_signals(stop: CancellationToken) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT can't be handled")?;
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM can't be handled")?;
    loop {
        let (name, number) = tokio::select! {
            _ = interrupt.recv() => ("SIGINT", 2),
            _ = terminate.recv() => ("SIGTERM", 15),
        };
        if stop.is_cancelled() {
            tracing::warn!("second signal ({name}): ends at once");
            std::process::exit(128 + number);
        }
        tracing::info!("{name}: stops");
        stop.cancel();
    }
}
