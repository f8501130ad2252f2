//! Every key of the service's own configuration, with its default.

#[cfg(test)]
mod tests;

use journeyman_schemas::Stage;
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
    /// `[instrumenter]`
    pub instrumenter: InstrumenterSection,
}

/// `[instrumenter]`: how many programs at once, and which ones a model is asked about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InstrumenterSection {
    /// Programs at once, at least 1.
    pub slots: usize,
    /// Longest program that a model is asked about, bytes; longer ones would not fit into small contexts.
    pub asked_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            service: ServiceSection::default(),
            admin: AdminSection::local(9104),
            nats: NatsSection::default(),
            redis: RedisSection::default(),
            instrumenter: InstrumenterSection::default(),
        }
    }
}

impl Default for InstrumenterSection {
    fn default() -> Self {
        Self {
            slots: 16,
            asked_bytes: 12_000,
        }
    }
}

impl ServiceConfig for Config {
    const STAGES: &'static [Stage] = &[Stage::Instrument];

    fn sections(&self) -> Sections<'_> {
        Sections {
            service: &self.service,
            admin: &self.admin,
            nats: &self.nats,
            redis: &self.redis,
        }
    }

    fn validate(&self) -> Result<(), Invalid> {
        if self.instrumenter.slots == 0 {
            return Err(Invalid::new("instrumenter.slots", 0, "at least 1"));
        }
        Ok(())
    }
}
