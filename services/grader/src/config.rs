//! Every key of the service's own configuration, with its default.

use std::path::PathBuf;

use journeyman_schemas::{Stage, home};
use journeyman_service::config::{
    AdminSection, Invalid, NatsSection, RedisSection, Sections, ServiceConfig, ServiceSection,
};
use serde::{Deserialize, Serialize};

/// The whole configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// `[service]`
    pub service: ServiceSection,
    /// `[admin]`
    pub admin: AdminSection,
    /// `[nats]`
    pub nats: NatsSection,
    /// `[redis]`
    pub redis: RedisSection,
    /// `[grader]`
    pub grader: GraderSection,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            service: ServiceSection::default(),
            admin: AdminSection::local(9106),
            nats: NatsSection::default(),
            redis: RedisSection::default(),
            grader: GraderSection::default(),
        }
    }
}

/// `[grader]`: where the answers are, and how much is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraderSection {
    /// Prepared tasks, with their answers; empty = `tasks` in the data home.
    pub tasks: PathBuf,
    /// Submissions graded at once.
    pub slots: usize,
    /// Larger submissions are invalid, bytes.
    pub submission_bytes: usize,
    /// Printed output kept with a solution, bytes: half from the head, half from the tail.
    pub output_bytes: usize,
}

impl Default for GraderSection {
    fn default() -> Self {
        Self {
            tasks: PathBuf::new(),
            slots: 4,
            submission_bytes: 16 * 1024 * 1024,
            output_bytes: 4096,
        }
    }
}

impl GraderSection {
    /// Where the prepared tasks are.
    pub fn tasks_dir(&self) -> PathBuf {
        if self.tasks.as_os_str().is_empty() {
            home::tasks()
        } else {
            self.tasks.clone()
        }
    }
}

impl ServiceConfig for Config {
    const STAGES: &'static [Stage] = &[Stage::Grade];

    fn sections(&self) -> Sections<'_> {
        let Self {
            service,
            admin,
            nats,
            redis,
            ..
        } = self;
        Sections {
            service,
            admin,
            nats,
            redis,
        }
    }

    fn validate(&self) -> Result<(), Invalid> {
        let GraderSection {
            slots,
            submission_bytes,
            ..
        } = &self.grader;
        for (name, value) in [("slots", slots), ("submission_bytes", submission_bytes)] {
            if *value == 0 {
                return Err(Invalid::new(format!("grader.{name}"), value, "at least 1"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
