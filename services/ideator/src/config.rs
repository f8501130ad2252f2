//! Every key of the service's own configuration, with its default.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use journeyman_schemas::{
    Stage,
    generate::Sampling,
    home,
    ids::{ContentHash, ModelId},
};
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
    /// `[ideator]`
    pub ideator: IdeatorSection,
}

/// `[ideator]`: its name, how many ideas at once, how much of a program a prompt shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IdeatorSection {
    /// Last word of the subject on which it answers those who seek help.
    pub name: String,
    /// Jobs at once, and questions at once, at least 1.
    pub slots: usize,
    /// Prepared tasks; only their public half is read. Empty = `tasks` in the data home.
    pub tasks: PathBuf,
    /// Most characters of the present program in a prompt.
    pub program_chars: usize,
    /// Most characters of the present program's output in a prompt.
    pub output_chars: usize,
    /// `[ideator.help]`
    pub help: HelpSection,
}

/// `[ideator.help]`: how those who seek help are answered. Jobs say themselves which weights draw their ideas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HelpSection {
    /// The base model.
    pub model: String,
    /// Hash of the adapter; empty = the base model alone.
    pub adapter: String,
    /// Longest idea, tokens.
    pub max_tokens: u32,
    /// Temperature.
    pub temperature: f32,
    /// Most ideas for one question.
    pub max_ideas: u32,
}

impl IdeatorSection {
    /// Where prepared tasks are.
    pub fn tasks(&self) -> PathBuf {
        if self.tasks.as_os_str().is_empty() {
            home::tasks()
        } else {
            self.tasks.clone()
        }
    }
}

impl HelpSection {
    /// The base model.
    pub fn model(&self) -> Result<ModelId, Invalid> {
        ModelId::new(self.model.clone())
            .map_err(|error| Invalid::new("ideator.help.model", &self.model, format!("a model id ({error})")))
    }

    /// The adapter, if any.
    pub fn adapter(&self) -> Result<Option<ContentHash>, Invalid> {
        if self.adapter.is_empty() {
            return Ok(None);
        }
        let wrong = |_| {
            Invalid::new(
                "ideator.help.adapter",
                &self.adapter,
                "empty or 64 lower-case hex digits",
            )
        };
        ContentHash::new(self.adapter.clone()).map(Some).map_err(wrong)
    }

    /// Sampling for one question, drawn with `seed`.
    pub fn sampling(&self, seed: u64) -> Sampling {
        Sampling {
            temperature: self.temperature,
            ..Sampling::training(self.max_tokens, seed, 0)
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            service: ServiceSection::default(),
            admin: AdminSection::local(9103),
            nats: NatsSection::default(),
            redis: RedisSection::default(),
            ideator: IdeatorSection::default(),
        }
    }
}

impl Default for IdeatorSection {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            slots: 32,
            tasks: PathBuf::new(),
            program_chars: 4000,
            output_chars: 800,
            help: HelpSection::default(),
        }
    }
}

impl Default for HelpSection {
    fn default() -> Self {
        Self {
            model: "qwen2-5-coder-0-5b-instruct".to_owned(),
            adapter: String::new(),
            max_tokens: 256,
            temperature: 1.0,
            max_ideas: 16,
        }
    }
}

impl ServiceConfig for Config {
    const STAGES: &'static [Stage] = &[Stage::Ideate];

    fn sections(&self) -> Sections<'_> {
        Sections {
            service: &self.service,
            admin: &self.admin,
            nats: &self.nats,
            redis: &self.redis,
        }
    }

    fn validate(&self) -> Result<(), Invalid> {
        let IdeatorSection {
            name, slots, help, ..
        } = &self.ideator;
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
        if name.is_empty() || !name.chars().all(word) {
            return Err(Invalid::new(
                "ideator.name",
                name,
                "one or more of a-z, 0-9, `-` and `_`",
            ));
        }
        if *slots == 0 {
            return Err(Invalid::new("ideator.slots", 0, "at least 1"));
        }
        if help.max_tokens == 0 {
            return Err(Invalid::new("ideator.help.max_tokens", 0, "at least 1"));
        }
        if help.max_ideas == 0 {
            return Err(Invalid::new("ideator.help.max_ideas", 0, "at least 1"));
        }
        if !(help.temperature.is_finite() && help.temperature >= 0.0) {
            return Err(Invalid::new(
                "ideator.help.temperature",
                help.temperature,
                "0 or more",
            ));
        }
        help.model()?;
        help.adapter()?;
        Ok(())
    }
}
