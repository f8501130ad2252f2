//! The connection: made with patience, checked once, kept for ever.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use async_nats::{Client, ConnectOptions, Event, ServerError, connection::State, jetstream};
use tokio::sync::watch;

use crate::{BusConfig, BusError};

/// A connection to the NATS server; clones share it. It reconnects by itself for as long as it lives.
#[derive(Clone)]
pub struct Bus {
    pub(crate) client: Client,
    pub(crate) jetstream: jetstream::Context,
    pub(crate) config: Arc<BusConfig>,
    /// Counts connections made; a pull that was under way before the last of them is lost.
    pub(crate) connections: watch::Receiver<u64>,
    permission_errors: Arc<AtomicU64>,
}

/// Oldest server that keeps every setting we rely on: Debian's 2.9 ignores some in silence.
const OLDEST_SERVER: (u64, u64) = (2, 12);
/// One exchange with JetStream; a publication repeats it.
const API_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest pause between two attempts to connect.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

impl Bus {
    /// Connects, waiting up to `timing.connect` for the server to come up, and checks that the server is new enough.
    pub async fn connect(config: &BusConfig) -> Result<Bus, BusError> {
        let (connected, connections) = watch::channel(0);
        let permission_errors = Arc::new(AtomicU64::new(0));
        let started = Instant::now();
        let mut tries = 0;
        let client = loop {
            match options(config, &connected, &permission_errors)
                .connect(&config.url)
                .await
            {
                Ok(client) => break client,
                Err(error) if started.elapsed() >= config.timing.connect => {
                    return Err(BusError::Unreachable {
                        url: config.url.clone(),
                        waited: config.timing.connect,
                        cause: chain(&error),
                    });
                }
                Err(error) => {
                    tracing::debug!(url = config.url, error = chain(&error), "no NATS server yet");
                    tries += 1;
                    let left = config.timing.connect.saturating_sub(started.elapsed());
                    tokio::time::sleep(reconnect_pause(tries).min(left)).await;
                }
            }
        };
        let info = client.server_info();
        if !new_enough(&info.version) {
            return Err(BusError::OldServer {
                url: config.url.clone(),
                version: info.version,
            });
        }
        if !info.jetstream {
            return Err(BusError::NoJetStream {
                url: config.url.clone(),
            });
        }
        let jetstream = jetstream::context::ContextBuilder::new()
            .timeout(API_TIMEOUT)
            .ack_timeout(API_TIMEOUT)
            .build(client.clone());
        Ok(Bus {
            client,
            jetstream,
            config: Arc::new(config.clone()),
            connections,
            permission_errors,
        })
    }

    /// Whether the connection is up now.
    pub fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// Times that the server refused a publication or subscription for want of permission. The client is told of it
    /// in no other way, so readiness must fail when this is not 0.
    pub fn permission_errors(&self) -> u64 {
        self.permission_errors.load(Ordering::Relaxed)
    }

    /// Largest message of the server, in bytes.
    pub fn max_payload(&self) -> usize {
        self.client.server_info().max_payload
    }
}

fn options(
    config: &BusConfig,
    connected: &watch::Sender<u64>,
    permission_errors: &Arc<AtomicU64>,
) -> ConnectOptions {
    let connected = connected.clone();
    let permission_errors = permission_errors.clone();
    let options = ConnectOptions::new()
        .name(&config.name)
        .connection_timeout(API_TIMEOUT)
        .max_reconnects(None)
        .reconnect_delay_callback(reconnect_pause)
        .event_callback(move |event| {
            note(&event, &connected, &permission_errors);
            async {}
        });
    match (&config.user, &config.password) {
        (Some(user), password) => {
            options.user_and_password(user.clone(), password.clone().unwrap_or_default())
        }
        (None, _) => options,
    }
}

fn note(event: &Event, connected: &watch::Sender<u64>, permission_errors: &AtomicU64) {
    match event {
        Event::Connected => {
            connected.send_modify(|count| *count += 1);
            tracing::info!("connected to NATS");
        }
        Event::Disconnected => tracing::warn!("connection to NATS lost, reconnecting"),
        Event::ServerError(ServerError::AuthorizationViolation) => {
            permission_errors.fetch_add(1, Ordering::Relaxed);
            tracing::error!("NATS refuses the user or password");
        }
        Event::ServerError(ServerError::Other(error)) => {
            if error.to_lowercase().contains("permissions violation") {
                permission_errors.fetch_add(1, Ordering::Relaxed);
            }
            tracing::error!(error, "NATS reports an error");
        }
        Event::SlowConsumer(_) => tracing::error!("messages are dropped: {event}"),
        // One per attempt to reconnect: too many for the log.
        _ => tracing::debug!("NATS: {event}"),
    }
}

fn reconnect_pause(tries: usize) -> Duration {
    let millis = 50 * u64::try_from(tries).unwrap_or(u64::MAX).min(20);
    Duration::from_millis(millis).min(RECONNECT_PAUSE)
}

/// Whether a version as in `2.12.0` or `2.14.1-beta.2` is one we can rely on.
fn new_enough(version: &str) -> bool {
    let mut numbers = version
        .split(['.', '-'])
        .map_while(|word| word.parse::<u64>().ok());
    let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) else {
        return false;
    };
    (major, minor) >= OLDEST_SERVER
}

/// An error with its causes, for people.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_below_2_12_is_refused() {
        for (version, good) in [
            ("2.9.10", false),
            ("2.11.11", false),
            ("2.12.0", true),
            ("2.14.1-beta.2", true),
            ("3.0.0", true),
            ("x", false),
        ] {
            assert_eq!(new_enough(version), good, "{version}");
        }
    }

    #[test]
    fn reconnect_pause_grows_to_one_second() {
        assert_eq!(reconnect_pause(1), Duration::from_millis(50));
        assert_eq!(reconnect_pause(usize::MAX), RECONNECT_PAUSE);
    }
}
