//! The OpenAI-compatible port: `POST /v1/chat/completions`, `GET /v1/models`, `GET /health`.

mod chat;
mod failure;
#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Request, State, rejection::BytesRejection},
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use journeyman_bus::Observer;
use journeyman_schemas::{Request as _, generate::Generate};
use serde_json::{Value, json};

use crate::{config::HttpConfig, error::AnswerError, handler::Answerer};
use failure::Failure;

/// Largest request body.
pub const BODY_LIMIT_BYTES: usize = 10 * 1024 * 1024;

/// What the routes share. Until the model is loaded there is no answerer, and every route but `/health` says 503.
#[derive(Clone)]
pub struct Front {
    shared: Arc<Shared>,
}

struct Shared {
    config: HttpConfig,
    observer: Arc<dyn Observer>,
    answerer: OnceLock<Arc<Answerer>>,
}

impl Front {
    /// A front that says "loading".
    pub fn new(config: HttpConfig, observer: Arc<dyn Observer>) -> Self {
        Self {
            shared: Arc::new(Shared {
                config,
                observer,
                answerer: OnceLock::new(),
            }),
        }
    }

    /// From now on answers.
    pub fn open(&self, answerer: Arc<Answerer>) {
        // Only the first call counts; there is only one.
        drop(self.shared.answerer.set(answerer));
    }

    /// The routes.
    pub fn router(&self) -> Router {
        let guarded = Router::new()
            .route("/v1/chat/completions", post(chat_completions))
            .route("/v1/models", get(models))
            .layer(middleware::from_fn_with_state(self.clone(), check_key));
        Router::new()
            .route("/health", get(health))
            .merge(guarded)
            .fallback(|| async { Failure::no_route() })
            .method_not_allowed_fallback(|| async { Failure::wrong_method() })
            .layer(DefaultBodyLimit::max(BODY_LIMIT_BYTES))
            .with_state(self.clone())
    }

    fn answerer(&self) -> Result<&Arc<Answerer>, Failure> {
        self.shared.answerer.get().ok_or_else(Failure::loading)
    }
}

async fn health(State(front): State<Front>) -> Response {
    match front.answerer() {
        Ok(_) => Json(json!({ "status": "ok" })).into_response(),
        Err(_) => (
            StatusCode::SERVICE_UNAVAILABLE,
            Json(json!({ "status": "loading" })),
        )
            .into_response(),
    }
}

async fn models(State(front): State<Front>) -> Result<Json<Value>, Failure> {
    Ok(Json(chat::model_list(front.answerer()?)))
}

async fn chat_completions(
    State(front): State<Front>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, Failure> {
    let answerer = front.answerer()?;
    let body = body.map_err(|rejection| Failure::body(&rejection))?;
    let asked = chat::parse(&body, answerer)?;
    let started = Instant::now();
    let deadline = started + Duration::from_secs(front.shared.config.request_timeout_s);
    let generated = answerer.generate(asked.generate, deadline).await;
    let fault = generated.as_ref().err().map(AnswerError::code);
    front
        .shared
        .observer
        .answered(Generate::NAME, fault, started.elapsed().as_secs_f64());
    let generated = generated?;
    Ok(Json(chat::render(answerer, &asked.shape, &generated)))
}

async fn check_key(State(front): State<Front>, request: Request, next: Next) -> Result<Response, Failure> {
    if let Some(key) = front.shared.config.api_key.expose() {
        let header = request
            .headers()
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let offered = header.and_then(|value| value.strip_prefix("Bearer "));
        if !offered.is_some_and(|offered| same(offered, key)) {
            return Err(Failure::wrong_key());
        }
    }
    Ok(next.run(request).await)
}

/// Takes the same time wherever the two differ.
fn same(left: &str, right: &str) -> bool {
    let differ = left
        .bytes()
        .zip(right.bytes())
        .fold(0, |differ, (left, right)| differ | (left ^ right));
    left.len() == right.len() && differ == 0
}
