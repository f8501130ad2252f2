//! `journeyman status`: services and runs of the stack on this machine, or of the one that the environment names.

use std::process::ExitCode;

use anyhow::{Context, Result};
use journeyman_bus::{Bus, BusConfig};
use journeyman_schemas::{Stage, run::RunProgress};
use journeyman_store::{Store, StoreConfig};
use serde_json::json;

use crate::stack;

/// Shows what is going on.
pub(crate) async fn run(as_json: bool) -> Result<ExitCode> {
    let addresses = stack::running().context(
        "nothing runs on this machine: start it with `journeyman up` or `journeyman train CONFIG`",
    )?;
    let store = Store::connect(&StoreConfig::new(&addresses.redis)).await?;
    let bus = Bus::connect(&BusConfig::new(&addresses.nats, "journeyman-status")).await?;
    let services = store.services().await?;
    let mut runs = Vec::new();
    for run in store.runs().await? {
        if let Some(progress) = store.progress(&run).await? {
            runs.push((progress, store.counters(&run).await?));
        }
    }
    let mut stages = Vec::new();
    for stage in Stage::ALL {
        stages.push((stage, bus.backlog(stage).await?));
    }
    if as_json {
        let value = json!({
            "addresses": addresses,
            "services": services,
            "stages": stages.iter().map(|(stage, backlog)| json!({
                "stage": stage, "pending": backlog.pending, "in_flight": backlog.in_flight,
            })).collect::<Vec<_>>(),
            "runs": runs.iter().map(|(progress, counters)| json!({
                "progress": progress,
                "rewards": { "accepted": counters.accepted, "duplicates": counters.duplicates,
                    "conflicts": counters.conflicts, "unknown": counters.unknown, "expired": counters.expired },
            })).collect::<Vec<_>>(),
        });
        println!("{}", serde_json::to_string_pretty(&value)?);
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "{:<26} {:<6} {:>5} {:>8} {:>7}  doing",
        "service", "ready", "busy", "done", "failed"
    );
    for service in &services {
        let ready = if service.ready { "yes" } else { "no" };
        let (busy, done, failed) = (service.busy, service.done, service.failed);
        println!(
            "{:<26} {ready:<6} {busy:>5} {done:>8} {failed:>7}  {}",
            service.service, service.doing
        );
    }
    println!("\n{:<12} {:>8} {:>10}", "stage", "pending", "in flight");
    for (stage, backlog) in &stages {
        println!(
            "{:<12} {:>8} {:>10}",
            stage.as_str(),
            backlog.pending,
            backlog.in_flight
        );
    }
    for (progress, counters) in &runs {
        println!("\n{}", sentence(progress));
        println!(
            "  rewards: {} accepted, {} duplicates and {} conflicts refused, {} expired",
            counters.accepted, counters.duplicates, counters.conflicts, counters.expired
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Where a run stands, in a sentence.
pub(crate) fn sentence(progress: &RunProgress) -> String {
    let word = serde_json::to_value(progress.phase).ok();
    let phase = word.as_ref().and_then(|word| word.as_str()).unwrap_or("unknown");
    format!(
        "run {} on {}: {phase}, step {} of {}, rollouts {} of {}",
        progress.run, progress.task, progress.step, progress.steps, progress.rollouts_done, progress.rollouts
    )
}
