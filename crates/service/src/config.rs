//! Configuration: defaults < TOML file < environment `JOURNEYMAN__SECTION__KEY`. No other source.

use std::{fmt, path::Path};

use figment::{
    Figment, Metadata, Profile, Provider,
    providers::{Format, Serialized, Toml},
    value::{Dict, Map, Value},
};
use journeyman_schemas::Stage;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// A service's configuration: the shared sections and its own, each a struct with
/// `#[serde(default, deny_unknown_fields)]`, never flattened.
pub trait ServiceConfig:
    Serialize + DeserializeOwned + Default + Clone + fmt::Debug + Send + Sync + 'static
{
    /// Stages that the service works; its metrics have a line for each from the start.
    const STAGES: &'static [Stage] = &[];

    /// The shared sections.
    fn sections(&self) -> Sections<'_>;

    /// Checks what types can't say.
    fn validate(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// The sections that every service has.
#[derive(Clone, Copy, Debug)]
pub struct Sections<'a> {
    /// `[service]`
    pub service: &'a ServiceSection,
    /// `[admin]`
    pub admin: &'a AdminSection,
    /// `[nats]`
    pub nats: &'a NatsSection,
    /// `[redis]`
    pub redis: &'a RedisSection,
}

/// `[service]`: which instance this is, how it stops, what it logs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServiceSection {
    /// Name among the instances of the same service; empty = the process id.
    pub instance: String,
    /// Seconds for work under way after the first signal.
    pub grace_s: f64,
    /// Log filter, as in `info,journeyman_bus=debug`.
    pub log: String,
    /// How log lines look.
    pub log_format: LogFormat,
}

impl Default for ServiceSection {
    fn default() -> Self {
        Self {
            instance: String::new(),
            grace_s: 20.0,
            log: "info".into(),
            log_format: LogFormat::Text,
        }
    }
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// `[admin]`: `/live`, `/ready`, `/metrics`, `/log-level`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdminSection {
    /// `host:port`; port 0 = any free one.
    pub listen: String,
}

impl AdminSection {
    /// On this machine only, at `port`.
    pub fn local(port: u16) -> Self {
        Self {
            listen: format!("127.0.0.1:{port}"),
        }
    }
}

impl Default for AdminSection {
    fn default() -> Self {
        Self::local(0)
    }
}

/// `[nats]`: where the bus is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NatsSection {
    /// Address without a password.
    pub url: String,
    /// User; empty = none.
    pub user: String,
    /// Password; from the environment only.
    pub password: Secret,
}

impl Default for NatsSection {
    fn default() -> Self {
        Self {
            url: "nats://127.0.0.1:4222".into(),
            user: String::new(),
            password: Secret::default(),
        }
    }
}

/// `[redis]`: where the store is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RedisSection {
    /// Address without a password.
    pub url: String,
    /// Password; from the environment only.
    pub password: Secret,
    /// Accept a server that forgets all at its stop.
    pub allow_volatile: bool,
}

impl Default for RedisSection {
    fn default() -> Self {
        Self {
            url: "redis://127.0.0.1:6379".into(),
            password: Secret::default(),
            allow_volatile: false,
        }
    }
}

/// A word that is never shown.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The word; none if it is empty.
    pub fn expose(&self) -> Option<&str> {
        Some(self.0.as_str()).filter(|word| !word.is_empty())
    }

    fn shown(&self) -> &'static str {
        if self.0.is_empty() { "" } else { "<redacted>" }
    }
}

impl From<&str> for Secret {
    fn from(word: &str) -> Self {
        Self(word.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.shown())
    }
}

impl Serialize for Secret {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.shown())
    }
}

/// A value that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` is `{value}`: it must be {allowed}")]
pub struct Invalid {
    field: String,
    value: String,
    allowed: String,
}

impl Invalid {
    /// `field` as in `section.key`; `allowed` completes "it must be …".
    pub fn new(field: impl Into<String>, value: impl ToString, allowed: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            value: value.to_string(),
            allowed: allowed.into(),
        }
    }
}

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file can't be read.
    #[error("config file `{path}` can't be read")]
    Read {
        /// Which file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file breaks a rule of TOML, or names something unknown.
    #[error("config file `{path}` is not right: {message}")]
    File {
        /// Which file.
        path: String,
        /// Line, key, and the valid keys.
        message: String,
    },
    /// An environment variable names something unknown or has the wrong type.
    #[error("environment variable `{name}` is not right: {message}")]
    Environment {
        /// Which variable.
        name: String,
        /// What is wrong.
        message: String,
    },
    /// A value breaks a rule.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// Reads `file` over the defaults, and the variables (name, value) that start with `JOURNEYMAN__` over both.
pub fn load<C: ServiceConfig>(
    file: Option<&Path>,
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<C, ConfigError> {
    let defaults = Figment::from(Serialized::defaults(C::default()));
    let mut figment = defaults.clone();
    if let Some(path) = file {
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read {
            path: shown.clone(),
            source,
        })?;
        parse::<C>(&text, &shown)?;
        figment = figment.merge(Toml::string(&text));
    }
    let environment = Environment::read(&defaults, variables);
    let config: C = figment
        .merge(&environment)
        .extract()
        .map_err(|error| environment.explain(&error))?;
    check(&config)?;
    Ok(config)
}

/// Reads a whole configuration from TOML, without the environment; `path` is for the message.
pub fn parse<C: ServiceConfig>(text: &str, path: &str) -> Result<C, ConfigError> {
    let wrong = |message: String| ConfigError::File {
        path: path.to_owned(),
        message,
    };
    let config: C = toml::from_str(text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
    let sections = config.sections();
    for (section, secret) in [
        ("nats", &sections.nats.password),
        ("redis", &sections.redis.password),
    ] {
        if secret.expose().is_some() {
            let name = section.to_uppercase();
            return Err(wrong(format!(
                "`{section}.password` is a secret: give it as environment variable `JOURNEYMAN__{name}__PASSWORD`"
            )));
        }
    }
    Ok(config)
}

fn check<C: ServiceConfig>(config: &C) -> Result<(), Invalid> {
    let sections = config.sections();
    let grace_s = sections.service.grace_s;
    if !(grace_s.is_finite() && (0.0..=86_400.0).contains(&grace_s)) {
        return Err(Invalid::new("service.grace_s", grace_s, "0 to 86400 seconds"));
    }
    for (field, url) in [
        ("nats.url", &sections.nats.url),
        ("redis.url", &sections.redis.url),
    ] {
        if let Some((_, host)) = url.rsplit_once('@') {
            return Err(Invalid::new(
                field,
                format!("…@{host}"),
                "an address without user and password",
            ));
        }
    }
    config.validate()
}

const PREFIX: &str = "JOURNEYMAN__";

/// Own sections of the services: one environment may serve all of them, each takes what is its own.
const SERVICES: [&str; 7] = [
    "inference",
    "implementer",
    "ideator",
    "instrumenter",
    "sandbox",
    "grader",
    "trainer",
];

/// The environment's variables. A variable is text where the default is text, so that `1` can be a name.
struct Environment(Dict);

impl Environment {
    fn read(defaults: &Figment, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut all = Figment::new();
        for (name, text) in variables {
            let Some(rest) = name.strip_prefix(PREFIX) else {
                continue;
            };
            let key = rest.to_lowercase().replace("__", ".");
            let section = key.split('.').next().unwrap_or_default();
            if SERVICES.contains(&section) && defaults.find_value(section).is_err() {
                continue;
            }
            let is_text = defaults
                .find_value(&key)
                .is_ok_and(|value| value.as_str().is_some());
            // Parsing an environment value can't fail: what is nothing else is text.
            let value = if is_text {
                Value::from(text)
            } else {
                text.parse().unwrap_or_else(|never| match never {})
            };
            all = all.merge(Serialized::default(&key, value));
        }
        Self(all.extract().unwrap_or_default())
    }

    /// Names the variable. The file has been read without fault before, so the fault is here.
    fn explain(&self, error: &figment::Error) -> ConfigError {
        use figment::error::Kind;
        let mut path: Vec<String> = error.path.iter().map(|key| key.to_uppercase()).collect();
        let message = match &error.kind {
            Kind::UnknownField(field, valid) => {
                let field = field.to_uppercase();
                if path.last() != Some(&field) {
                    path.push(field);
                }
                format!("no such key, expected one of {}", list(valid))
            }
            kind => kind.to_string(),
        };
        ConfigError::Environment {
            name: format!("{PREFIX}{}", path.join("__")),
            message,
        }
    }
}

fn list(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| format!("`{word}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

impl Provider for &Environment {
    fn metadata(&self) -> Metadata {
        Metadata::named("environment")
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Profile::Default.collect(self.0.clone()))
    }
}

#[cfg(test)]
mod tests;
