//! Every key of the service's own configuration, with its default.

#[cfg(test)]
mod tests;

use std::{
    num::NonZero,
    path::{Path, PathBuf},
    thread::available_parallelism,
};

use journeyman_schemas::{Stage, execution::IsolationLevel, home};
use journeyman_service::config::{
    AdminSection, Invalid, NatsSection, RedisSection, Sections, ServiceConfig, ServiceSection,
};
use journeyman_store::BLOB_LIMIT_BYTES;
use serde::{Deserialize, Serialize};

use crate::executor::ExecutorConfig;

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
    /// `[sandbox]`
    pub sandbox: SandboxSection,
}

/// `[sandbox]`: which programs run, how many at once, how strongly walled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxSection {
    /// Programs at once; 0 = one for each core, so that measured durations are of undisturbed runs.
    pub slots: usize,
    /// Threads that numerical libraries start by default in one program.
    pub threads: u32,
    /// Prepared tasks; only their public half is read. Empty = `tasks` in the data home.
    pub tasks: PathBuf,
    /// The Python environment of programs, which every user can read. Empty = `python` in the data home.
    pub python: PathBuf,
    /// Where programs have their files while they run. Empty = `spool` in the data home.
    pub spool: PathBuf,
    /// The program bubblewrap, 0.8 or newer.
    pub bwrap: PathBuf,
    /// Below this level the service refuses to start: `full`, or `namespaces`.
    pub minimum_level: IsolationLevel,
    /// First of the user ids that programs run as, when the service is run as root.
    pub first_uid: u32,
    /// How many such user ids there are.
    pub uids: u32,
    /// Largest submission taken, bytes.
    pub submission_bytes: u64,
    /// Output after which a program is killed, bytes.
    pub flood_bytes: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            service: ServiceSection::default(),
            admin: AdminSection::local(9105),
            nats: NatsSection::default(),
            redis: RedisSection::default(),
            sandbox: SandboxSection::default(),
        }
    }
}

impl Default for SandboxSection {
    fn default() -> Self {
        Self {
            slots: 0,
            threads: 1,
            tasks: PathBuf::new(),
            python: PathBuf::new(),
            spool: PathBuf::new(),
            bwrap: "/usr/bin/bwrap".into(),
            minimum_level: IsolationLevel::Namespaces,
            first_uid: 61_000,
            uids: 64,
            submission_bytes: 32 << 20,
            flood_bytes: 256 << 20,
        }
    }
}

impl ServiceConfig for Config {
    const STAGES: &'static [Stage] = &[Stage::Execute];

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
        let section = &self.sandbox;
        if section.threads == 0 {
            return Err(Invalid::new("sandbox.threads", 0, "at least 1"));
        }
        if section.minimum_level == IsolationLevel::None {
            let allowed = "`full` or `namespaces`: nothing is ever run without isolation";
            return Err(Invalid::new("sandbox.minimum_level", "none", allowed));
        }
        if section.first_uid < 1000 || section.first_uid.checked_add(section.uids).is_none() {
            let allowed = "at least 1000, so that no program runs as a system user";
            return Err(Invalid::new("sandbox.first_uid", section.first_uid, allowed));
        }
        if (section.uids as usize) < section.slots() {
            let allowed = format!("at least the number of programs at once, {}", section.slots());
            return Err(Invalid::new("sandbox.uids", section.uids, allowed));
        }
        if section.submission_bytes > BLOB_LIMIT_BYTES as u64 {
            let allowed = format!("at most {BLOB_LIMIT_BYTES}, what the store takes");
            return Err(Invalid::new(
                "sandbox.submission_bytes",
                section.submission_bytes,
                allowed,
            ));
        }
        Ok(())
    }
}

impl SandboxSection {
    /// Programs at once, at least 1.
    pub fn slots(&self) -> usize {
        match self.slots {
            0 => available_parallelism().map_or(1, NonZero::get),
            slots => slots,
        }
    }

    /// Where prepared tasks are.
    pub fn tasks(&self) -> PathBuf {
        or_home(&self.tasks, "tasks")
    }

    /// The executor's part.
    pub fn executor(&self) -> ExecutorConfig {
        ExecutorConfig {
            bwrap: self.bwrap.clone(),
            python: or_home(&self.python, "python"),
            spool: or_home(&self.spool, "spool"),
            minimum_level: self.minimum_level,
            first_uid: self.first_uid,
            uids: self.uids,
            threads: self.threads,
            submission_bytes: self.submission_bytes,
            flood_bytes: self.flood_bytes,
        }
    }
}

fn or_home(path: &Path, name: &str) -> PathBuf {
    if path.as_os_str().is_empty() {
        home::data_home().join(name)
    } else {
        path.to_path_buf()
    }
}
