//! The smallest service, for this crate's tests and as an example: each job waits for as long as it says.

use std::{process::ExitCode, time::Duration};

use journeyman_schemas::{Job, Stage};
use journeyman_service::{
    Context, ServiceConfig,
    config::{AdminSection, Invalid, NatsSection, RedisSection, Sections, ServiceSection},
};
use serde::{Deserialize, Serialize};

fn main() -> ExitCode {
    journeyman_service::main("journeyman-smallest", run)
}

async fn run(ctx: Context<Config>) -> anyhow::Result<()> {
    let (clock, slots) = (ctx.clock.clone(), ctx.config.smallest.slots);
    ctx.work::<Wait, _, _>(slots, move |job, _attempt| {
        let clock = clock.clone();
        async move {
            clock.sleep(Duration::from_millis(job.body.milliseconds)).await;
            Ok(())
        }
    })
    .await
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Config {
    service: ServiceSection,
    admin: AdminSection,
    nats: NatsSection,
    redis: RedisSection,
    smallest: SmallestSection,
}

/// `[smallest]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SmallestSection {
    /// Jobs at once.
    slots: usize,
}

impl Default for SmallestSection {
    fn default() -> Self {
        Self { slots: 2 }
    }
}

impl ServiceConfig for Config {
    const STAGES: &'static [Stage] = &[Stage::Execute];

    fn sections(&self) -> Sections<'_> {
        Sections {
            service: &self.service,
            admin: &self.admin,
            nats: &self.nats,
            redis: &self.redis,
        }
    }

    fn validate(&self) -> Result<(), Invalid> {
        match self.smallest.slots {
            0 => Err(Invalid::new("smallest.slots", 0, "at least 1")),
            _ => Ok(()),
        }
    }
}

/// A job.
#[derive(Serialize, Deserialize)]
struct Wait {
    milliseconds: u64,
}

impl Job for Wait {
    const STAGE: Stage = Stage::Execute;
}
