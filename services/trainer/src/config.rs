//! The trainer's configuration, and how a run's configuration is read.

use std::path::{Path, PathBuf};

use journeyman_schemas::{home, run_config::RunConfig};
use journeyman_service::config::{
    AdminSection, NatsSection, RedisSection, Sections, ServiceConfig, ServiceSection,
};
use serde::{Deserialize, Serialize};

/// Every key of `config.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// `[trainer]`
    pub trainer: TrainerSection,
}

/// `[trainer]`: which run, with what, where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainerSection {
    /// The run's configuration, a TOML file as `journeyman train` takes it.
    pub run_config: PathBuf,
    /// The base model's GGUF file: the same file that inference serves.
    pub model_path: PathBuf,
    /// `cpu` or `cuda:N`.
    pub device: String,
    /// Prepared tasks; empty = `tasks` in the data home. Only their public half is read.
    pub tasks: PathBuf,
    /// Each run writes into a directory of its own name here.
    pub runs: PathBuf,
    /// Threads of the tensor kernels; 0 = one for each core.
    pub threads: usize,
}

impl Default for TrainerSection {
    fn default() -> Self {
        Self {
            run_config: "configs/quickstart.toml".into(),
            model_path: "models/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf".into(),
            device: "cpu".into(),
            tasks: PathBuf::new(),
            runs: "runs".into(),
            threads: 0,
        }
    }
}

impl TrainerSection {
    /// Where prepared tasks lie.
    pub fn tasks_dir(&self) -> PathBuf {
        if self.tasks.as_os_str().is_empty() {
            home::tasks()
        } else {
            self.tasks.clone()
        }
    }
}

impl ServiceConfig for Config {
    fn sections(&self) -> Sections<'_> {
        Sections {
            service: &self.service,
            admin: &self.admin,
            nats: &self.nats,
            redis: &self.redis,
        }
    }
}

/// Why a run's configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum RunConfigError {
    /// The file can't be read.
    #[error("run config `{path}` can't be read")]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file breaks a rule of TOML, or names something unknown.
    #[error("run config `{path}` is not right: {message}")]
    Parse {
        /// Which file.
        path: PathBuf,
        /// Line, key, and the valid keys.
        message: String,
    },
    /// A value is out of its range.
    #[error("run config `{path}` is not right")]
    Value {
        /// Which file.
        path: PathBuf,
        /// Which value.
        source: journeyman_schemas::run_config::RunConfigError,
    },
}

/// Reads and checks the run's configuration.
pub fn load_run(path: &Path) -> Result<RunConfig, RunConfigError> {
    let path = path.to_owned();
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(RunConfigError::Read { path, source }),
    };
    let config: RunConfig = match toml::from_str(&text) {
        Ok(config) => config,
        Err(error) => {
            return Err(RunConfigError::Parse {
                path,
                message: error.to_string().trim_end().to_owned(),
            });
        }
    };
    match config.check() {
        Ok(()) => Ok(config),
        Err(source) => Err(RunConfigError::Value { path, source }),
    }
}

#[cfg(test)]
mod tests;
