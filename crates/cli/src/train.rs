//! `journeyman train CONFIG`: a stack, a trainer, a live view, and what came of it.

use std::{fs, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context, Result, bail};
use journeyman_schemas::{ids::RunId, run::RunPhase, run_config::RunConfig};
use journeyman_store::Store;

use crate::{chart, models, run_config, stack, tasks, view};

/// Between two looks at the trainer.
const POLL: Duration = Duration::from_millis(200);

/// Options of `train`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The run's TOML file.
    config: PathBuf,
    /// Print the resolved configuration and stop.
    #[arg(long)]
    dry_run: bool,
    /// Directory of all runs' files.
    #[arg(long, default_value = "runs")]
    runs: PathBuf,
}

/// Runs it to its end; Ctrl-C stops everything, and the same command goes on from the last step.
pub(crate) async fn run(options: Options) -> Result<ExitCode> {
    let config = run_config::load(&options.config)?;
    if options.dry_run {
        print!("{}", run_config::to_toml(&config)?);
        return Ok(ExitCode::SUCCESS);
    }
    let model = models::installed(config.model.id.as_str())?;
    tasks::check(&config.run.task)?;
    let runs = std::path::absolute(&options.runs)?;
    let resolved = keep_config(&config, &runs)?;

    println!(
        "starting NATS, Redis and the services (logs in {})",
        stack::logs().display()
    );
    let mut stack = stack::Stack::start(&model, "127.0.0.1:0").await?;
    let store = stack.store().await?;
    stack.start_trainer(
        &resolved.display().to_string(),
        &model,
        &runs.display().to_string(),
    )?;
    let end = {
        let watching = view::watch(store.clone(), config.run.id.clone());
        tokio::select! {
            biased;
            () = stack::interrupted() => Ok(End::Interrupted),
            end = trainer_end(&mut stack) => end,
            () = watching => Ok(End::Interrupted),
        }
    };
    let end = match end {
        Ok(End::Finished) => Ok(finished(&store, &config.run.id).await?),
        other => other,
    };
    stack.stop().await;
    let metrics = runs.join(config.run.id.as_str()).join("metrics.jsonl");
    match end? {
        End::Interrupted => {
            println!("stopped; run the same command again to go on from the last step");
            Ok(ExitCode::from(130))
        }
        End::Failed => bail!(
            "the trainer failed; the end of its log {}:\n{}",
            trainer_log().display(),
            tail()
        ),
        End::Finished => {
            chart::show(&metrics)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// How a run ended.
enum End {
    Finished,
    Failed,
    Interrupted,
}

/// Keeps everything alive until the trainer has ended by itself.
async fn trainer_end(stack: &mut stack::Stack) -> Result<End> {
    loop {
        stack.look_after()?;
        if let Some(status) = stack.trainer_ended() {
            return Ok(if status.success() {
                End::Finished
            } else {
                End::Failed
            });
        }
        tokio::time::sleep(POLL).await;
    }
}

/// A trainer that was told to stop by somebody else exits with 0 too, but is not done.
async fn finished(store: &Store, run: &RunId) -> Result<End> {
    let phase = store.progress(run).await?.map(|progress| progress.phase);
    Ok(if phase == Some(RunPhase::Done) {
        End::Finished
    } else {
        End::Interrupted
    })
}

/// Writes the resolved configuration into the run's directory, where the trainer reads it.
fn keep_config(config: &RunConfig, runs: &std::path::Path) -> Result<PathBuf> {
    let directory = runs.join(config.run.id.as_str());
    fs::create_dir_all(&directory).with_context(|| format!("can't create `{}`", directory.display()))?;
    let path = directory.join("config.toml");
    fs::write(&path, run_config::to_toml(config)?)
        .with_context(|| format!("can't write `{}`", path.display()))?;
    Ok(path)
}

fn trainer_log() -> PathBuf {
    stack::logs().join("trainer.log")
}

fn tail() -> String {
    let text = fs::read_to_string(trainer_log()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}
