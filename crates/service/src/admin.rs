//! The admin port, the same in every service.
//!
//! - `GET /live`: 200 while the process can answer at all.
//! - `GET /ready`: 200 while the service takes work, else 503 and what holds it back, one word per line.
//! - `GET /metrics`: Prometheus text.
//! - `GET /log-level`, `PUT /log-level`: the log filter, as in `info,journeyman_bus=debug`.

use std::net::SocketAddr;

use anyhow::Context as _;
use axum::{Router, extract::State, http::StatusCode, routing::get};
use tokio::net::TcpListener;

use crate::{Metric, Metrics, Readiness, log::LogLevel};

/// A bound admin port that does not answer yet.
pub(crate) struct Admin {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
}

#[derive(Clone)]
struct Shown {
    metrics: Metrics,
    ready: Readiness,
    log: LogLevel,
}

impl Admin {
    pub(crate) async fn bind(listen: &str) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(listen).await.with_context(|| {
            format!("admin port `{listen}` can't be opened: is another service on it? Set `admin.listen` to a free `host:port`")
        })?;
        let address = listener.local_addr().context("admin port has no address")?;
        Ok(Self { listener, address })
    }

    /// Answers until it is dropped.
    pub(crate) async fn answer(
        self,
        metrics: Metrics,
        ready: Readiness,
        log: LogLevel,
    ) -> anyhow::Result<()> {
        let app = Router::new()
            .route("/live", get(async || "live\n"))
            .route("/ready", get(show_ready))
            .route("/metrics", get(show_metrics))
            .route("/log-level", get(show_log_level).put(set_log_level))
            .with_state(Shown { metrics, ready, log });
        axum::serve(self.listener, app)
            .await
            .context("admin port stopped answering")
    }
}

async fn show_ready(State(shown): State<Shown>) -> (StatusCode, String) {
    if shown.ready.is_ready() {
        return (StatusCode::OK, "ready\n".into());
    }
    (
        StatusCode::SERVICE_UNAVAILABLE,
        shown.ready.held_by().join("\n") + "\n",
    )
}

async fn show_metrics(State(shown): State<Shown>) -> Result<String, (StatusCode, String)> {
    shown
        .metrics
        .set(Metric::Ready, &[], f64::from(u8::from(shown.ready.is_ready())));
    shown
        .metrics
        .render()
        .map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")))
}

async fn show_log_level(State(shown): State<Shown>) -> (StatusCode, String) {
    match shown.log.get() {
        Some(filter) => (StatusCode::OK, filter + "\n"),
        None => (
            StatusCode::NOT_FOUND,
            "this service does not log on its own\n".into(),
        ),
    }
}

async fn set_log_level(State(shown): State<Shown>, filter: String) -> (StatusCode, String) {
    match shown.log.set(filter.trim()) {
        Ok(()) => (StatusCode::OK, filter),
        Err(reason) => (StatusCode::BAD_REQUEST, reason + "\n"),
    }
}
