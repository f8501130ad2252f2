//! Every key of the service's own configuration, with its default.

#[cfg(test)]
mod tests;

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
    /// `[implementer]`
    pub implementer: ImplementerSection,
}

/// `[implementer]`: how many completions at once, and how much of earlier work a prompt shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImplementerSection {
    /// Completions asked for at once, at least 1; the model server batches them.
    pub slots: usize,
    /// Prepared tasks; only their public half is read. Empty = `tasks` in the data home.
    pub tasks: PathBuf,
    /// Most characters of an earlier program in a prompt.
    pub program_chars: usize,
    /// Most characters of an earlier program's output in a prompt.
    pub output_chars: usize,
}

impl ImplementerSection {
    /// Where prepared tasks are.
    pub fn tasks(&self) -> PathBuf {
        if self.tasks.as_os_str().is_empty() {
            home::tasks()
        } else {
            self.tasks.clone()
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            service: ServiceSection::default(),
            admin: AdminSection::local(9102),
            nats: NatsSection::default(),
            redis: RedisSection::default(),
            implementer: ImplementerSection::default(),
        }
    }
}

impl Default for ImplementerSection {
    fn default() -> Self {
        Self {
            slots: 32,
            tasks: PathBuf::new(),
            program_chars: 6000,
            output_chars: 800,
        }
    }
}

impl ServiceConfig for Config {
    const STAGES: &'static [Stage] = &[Stage::Implement];

    fn sections(&self) -> Sections<'_> {
        Sections {
            service: &self.service,
            admin: &self.admin,
            nats: &self.nats,
            redis: &self.redis,
        }
    }

    fn validate(&self) -> Result<(), Invalid> {
        if self.implementer.slots == 0 {
            return Err(Invalid::new("implementer.slots", 0, "at least 1"));
        }
        Ok(())
    }
}
