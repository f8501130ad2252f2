//! A run's configuration: the TOML file, and `JOURNEYMAN_RUN__SECTION__KEY` over it.

use std::path::Path;

use anyhow::{Context, Result};
use figment::{
    Figment,
    providers::{Env, Format, Serialized, Toml},
};
use journeyman_schemas::run_config::RunConfig;

/// Prefix of environment variables that change a run.
pub(crate) const PREFIX: &str = "JOURNEYMAN_RUN__";

/// Reads, overrides and checks.
pub(crate) fn load(path: &Path) -> Result<RunConfig> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("run config `{}` can't be read", path.display()))?;
    // Read on its own first: only this error has the line and the valid keys.
    let file: RunConfig = toml::from_str(&text)
        .map_err(|error| anyhow::anyhow!("run config `{}` is not right: {error}", path.display()))?;
    drop(file);
    let config: RunConfig = Figment::from(Toml::string(&text))
        .merge(Env::prefixed(PREFIX).split("__"))
        .extract()
        .with_context(|| format!("an environment variable that starts with {PREFIX} is not right"))?;
    config
        .check()
        .with_context(|| format!("run config `{}` is not right", path.display()))?;
    Ok(config)
}

/// The whole configuration as TOML.
pub(crate) fn to_toml(config: &RunConfig) -> Result<String> {
    let value: toml::Value = Figment::from(Serialized::defaults(config)).extract()?;
    Ok(toml::to_string_pretty(&value)?)
}

#[cfg(test)]
mod tests;
