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

/// Largest `memory_mib`: 1 TiB.
const MOST_MEMORY_MIB: u32 = 1 << 20;

/// `[grader]`: where the answers are, and how much is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GraderSection {
    /// Prepared tasks, with their answers; empty = `tasks` in the data home.
    pub tasks: PathBuf,
    /// Jobs held at once.
    pub slots: usize,
    /// Larger submissions are invalid, bytes.
    pub submission_bytes: usize,
    /// Submissions of at most this size wait for nothing, bytes.
    pub small_bytes: usize,
    /// Memory for all larger submissions that are graded at the same time, MiB, and as much again for those that are
    /// validated. One that may need more is invalid.
    pub memory_mib: u32,
    /// Printed output kept with a solution, bytes: half from the head, half from the tail.
    pub output_bytes: usize,
    /// The validation endpoint.
    pub validate: ValidateSection,
}

/// `[grader.validate]`: is this submission well formed? Asked over NATS and over HTTP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ValidateSection {
    /// Address and port of `POST /validate`; port 0 takes a free one, which the log and `journeyman status` tell.
    pub listen: String,
    /// Questions answered at once over NATS, and as many over HTTP; the next is told `busy`.
    pub slots: usize,
    /// Questions of one asker within a minute; the next is told when to ask again. 0 = no limit.
    pub per_minute: u64,
}

impl Default for ValidateSection {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:0".into(),
            slots: 4,
            per_minute: 30,
        }
    }
}

impl Default for GraderSection {
    fn default() -> Self {
        Self {
            tasks: PathBuf::new(),
            slots: 16,
            submission_bytes: 32 * 1024 * 1024,
            small_bytes: 1024 * 1024,
            memory_mib: 1024,
            output_bytes: 4096,
            validate: ValidateSection::default(),
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
            memory_mib,
            validate,
            ..
        } = &self.grader;
        for (name, value) in [
            ("slots", *slots),
            ("submission_bytes", *submission_bytes),
            ("validate.slots", validate.slots),
        ] {
            if value == 0 {
                return Err(Invalid::new(format!("grader.{name}"), value, "at least 1"));
            }
        }
        if !(1..=MOST_MEMORY_MIB).contains(memory_mib) {
            return Err(Invalid::new("grader.memory_mib", memory_mib, "from 1 to 1048576"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
