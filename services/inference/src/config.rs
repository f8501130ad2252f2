//! Every key of the service's own configuration, with its default.

#[cfg(test)]
mod tests;

use std::{path::PathBuf, str::FromStr};

use journeyman_lm::device::Device;
use journeyman_schemas::ids::ModelId;
use journeyman_service::config::{
    AdminSection, Invalid, NatsSection, RedisSection, Secret, Sections, ServiceConfig, ServiceSection,
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
    /// `[inference]`
    pub inference: InferenceSection,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            service: ServiceSection::default(),
            admin: AdminSection::local(9101),
            nats: NatsSection::default(),
            redis: RedisSection::default(),
            inference: InferenceSection::default(),
        }
    }
}

impl ServiceConfig for Config {
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
        let InferenceSection { model, engine, http } = &self.inference;
        Device::from_str(&model.device).map_err(|_| {
            Invalid::new(
                "inference.model.device",
                &model.device,
                "`cpu`, or `cuda:N` if built with that feature",
            )
        })?;
        let at_least_one = [
            ("engine.max_rows", engine.max_rows),
            ("engine.max_tokens_per_step", engine.max_tokens_per_step),
            ("engine.max_waiting", engine.max_waiting),
            ("engine.max_samples", engine.max_samples as usize),
            ("engine.adapters_kept", engine.adapters_kept),
            ("http.request_timeout_s", http.request_timeout_s as usize),
        ];
        match at_least_one.iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => Err(Invalid::new(format!("inference.{name}"), 0, "at least 1")),
            None => Ok(()),
        }
    }
}

/// `[inference]`: what is the service's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InferenceSection {
    /// Which model.
    pub model: ModelSection,
    /// How requests are batched.
    pub engine: EngineConfig,
    /// The OpenAI-compatible port.
    pub http: HttpConfig,
}

/// Which model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSection {
    /// Name in `jm.lm.<id>.generate` and in the `model` field over HTTP.
    pub id: ModelId,
    /// The GGUF file.
    pub path: PathBuf,
    /// `cpu` or `cuda:N`.
    pub device: String,
}

impl Default for ModelSection {
    fn default() -> Self {
        Self {
            // Only letters, digits and `-` are in it.
            id: ModelId::new("qwen2-5-coder-0-5b-instruct").expect("a valid id"),
            path: "models/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf".into(),
            device: "cpu".into(),
        }
    }
}

/// How requests are batched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineConfig {
    /// Samples decoded together.
    pub max_rows: usize,
    /// Tokens of one forward pass: one for each decoding row, the rest for prompts.
    pub max_tokens_per_step: usize,
    /// Requests that may wait; the next is told `busy`.
    pub max_waiting: usize,
    /// Most samples of one request.
    pub max_samples: u32,
    /// Tokens of finished prompts kept for equal prompts that come later.
    pub prompt_tokens_kept: usize,
    /// Adapters kept in memory, beside those in use.
    pub adapters_kept: usize,
    /// Threads of the arithmetic; 0 = one per core.
    pub threads: usize,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            max_rows: 32,
            max_tokens_per_step: 256,
            max_waiting: 256,
            max_samples: 64,
            prompt_tokens_kept: 8192,
            adapters_kept: 4,
            threads: 0,
        }
    }
}

/// The OpenAI-compatible port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpConfig {
    /// Address and port; port 0 takes a free one, which the log and `journeyman status` tell.
    pub listen: String,
    /// Bearer token that clients must send; empty = open. From the environment only.
    pub api_key: Secret,
    /// Seconds that a request may take, waiting included.
    pub request_timeout_s: u64,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:0".into(),
            api_key: Secret::default(),
            request_timeout_s: 600,
        }
    }
}
