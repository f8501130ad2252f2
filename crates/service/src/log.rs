//! Log lines: on standard error, with a filter that can be changed while the service runs.

use std::{io::IsTerminal, sync::Arc};

use tracing_subscriber::{EnvFilter, Layer, Registry, layer::SubscriberExt, reload};

use crate::config::{LogFormat, ServiceSection};

/// Shows and changes the log filter.
#[derive(Clone)]
pub(crate) struct LogLevel(Arc<dyn Control>);

trait Control: Send + Sync {
    fn get(&self) -> Option<String>;
    fn set(&self, filter: &str) -> Result<(), String>;
}

impl LogLevel {
    /// Starts logging for this process.
    pub(crate) fn install(section: &ServiceSection) -> anyhow::Result<Self> {
        let filter = EnvFilter::try_new(&section.log).map_err(|error| {
            anyhow::anyhow!(
                "`service.log` is `{}`, which is no log filter: {error}",
                section.log
            )
        })?;
        let (filter, handle) = reload::Layer::new(filter);
        let for_people = std::io::stderr().is_terminal();
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_ansi(for_people);
        let lines = match section.log_format {
            LogFormat::Text => lines.boxed(),
            LogFormat::Json => lines.json().boxed(),
        };
        tracing::subscriber::set_global_default(Registry::default().with(lines.with_filter(filter)))?;
        Ok(Self(Arc::new(handle)))
    }

    /// For services inside a test process, whose logging is not theirs.
    pub(crate) fn none() -> Self {
        Self(Arc::new(NoControl))
    }

    pub(crate) fn get(&self) -> Option<String> {
        self.0.get()
    }

    pub(crate) fn set(&self, filter: &str) -> Result<(), String> {
        self.0.set(filter)
    }
}

impl<S: 'static> Control for reload::Handle<EnvFilter, S> {
    fn get(&self) -> Option<String> {
        self.with_current(ToString::to_string).ok()
    }

    fn set(&self, filter: &str) -> Result<(), String> {
        let filter =
            EnvFilter::try_new(filter).map_err(|error| format!("`{filter}` is no log filter: {error}"))?;
        self.reload(filter).map_err(|error| error.to_string())
    }
}

struct NoControl;

impl Control for NoControl {
    fn get(&self) -> Option<String> {
        None
    }

    fn set(&self, _filter: &str) -> Result<(), String> {
        Err("this service does not log on its own".into())
    }
}
