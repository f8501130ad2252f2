//! The validation endpoint over HTTP: `POST /validate?task=NAME` with the file as the body, and `GET /health`.
//!
//! Both answer with JSON. A submission that is not well formed is an answer (status 200, `valid` false), not an error.

use std::{net::SocketAddr, sync::Arc, time::Instant};

use axum::{
    Json, Router,
    body::{Body, to_bytes},
    extract::{ConnectInfo, Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use journeyman_bus::Observer;
use journeyman_schemas::{
    Request as _,
    fault::{Fault, FaultCode},
    ids::TaskId,
    validate::{Validate, Validated},
};
use serde::Deserialize;
use tokio::sync::Semaphore;

use crate::validate::Validator;

/// Longest time in which a body must have come.
const UPLOAD: std::time::Duration = std::time::Duration::from_secs(30);

/// What the routes share.
#[derive(Clone)]
pub(crate) struct Front {
    validator: Arc<Validator>,
    observer: Arc<dyn Observer>,
    slots: Arc<Semaphore>,
}

#[derive(Deserialize)]
struct Asked {
    task: TaskId,
}

impl Front {
    pub(crate) fn new(validator: Arc<Validator>, observer: Arc<dyn Observer>, slots: usize) -> Self {
        Self {
            validator,
            observer,
            slots: Arc::new(Semaphore::new(slots)),
        }
    }

    /// The routes.
    pub(crate) fn router(self) -> Router {
        Router::new()
            .route(
                "/health",
                get(async || Json(serde_json::json!({ "status": "ok" }))),
            )
            .route("/validate", post(validate))
            .fallback(|| async {
                let message = "no such path: there are `POST /validate?task=NAME` and `GET /health`";
                Failure::from(Fault::new(FaultCode::NotFound, message))
            })
            .with_state(self)
    }

    async fn answer(
        &self,
        address: SocketAddr,
        asked: Result<Query<Asked>, QueryRejection>,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Validated, Failure> {
        let Query(Asked { task }) = asked.map_err(|rejection| {
            let message = format!(
                "name the task, as in `/validate?task=mlc-churn`: {}",
                rejection.body_text()
            );
            Fault::new(FaultCode::Invalid, message)
        })?;
        let bytes = declared_bytes(headers)?;
        if let Some(limited) = self.validator.admit(&format!("http/{}", address.ip())).await? {
            return Err(Failure {
                fault: Fault::new(FaultCode::Busy, limited.message),
                wait_s: limited.wait_s,
            });
        }
        let _slot = self
            .slots
            .try_acquire()
            .map_err(|_| Fault::new(FaultCode::Busy, "all slots are taken; ask again in a second"))?;
        let limit = usize::try_from(bytes).unwrap_or(usize::MAX);
        let read = async {
            let invalid = |message: String| Fault::new(FaultCode::Invalid, message);
            match tokio::time::timeout(UPLOAD, to_bytes(body, limit)).await {
                Ok(Ok(bytes)) => Ok(bytes.into()),
                Ok(Err(error)) => Err(invalid(format!("the body can't be read: {error}"))),
                Err(_) => Err(invalid(format!(
                    "the body did not come within {} s",
                    UPLOAD.as_secs()
                ))),
            }
        };
        Ok(self.validator.validate(&task, bytes, read).await?)
    }
}

async fn validate(
    State(front): State<Front>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    asked: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Validated>, Failure> {
    let started = Instant::now();
    let answer = front.answer(address, asked, &headers, body).await;
    let fault = answer.as_ref().err().map(|failure| failure.fault.code);
    front
        .observer
        .answered(Validate::NAME, fault, started.elapsed().as_secs_f64());
    answer.map(Json)
}

/// The size of the body, which must be told: what is too large is refused without being read.
fn declared_bytes(headers: &HeaderMap) -> Result<u64, Fault> {
    let told = [header::CONTENT_LENGTH, header::TRANSFER_ENCODING];
    if !told.iter().any(|name| headers.contains_key(name)) {
        // A request without either has no body (RFC 9112, section 6.3).
        return Ok(0);
    }
    headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .ok_or_else(|| {
            Fault::new(
                FaultCode::Invalid,
                "send the size of the body in `Content-Length`",
            )
        })
}

/// A question that has no answer.
#[derive(Debug)]
struct Failure {
    fault: Fault,
    /// When to ask again, seconds.
    wait_s: u64,
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self { fault, wait_s: 1 }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = match self.fault.code {
            FaultCode::Invalid => StatusCode::BAD_REQUEST,
            FaultCode::NotFound => StatusCode::NOT_FOUND,
            FaultCode::Busy => StatusCode::TOO_MANY_REQUESTS,
            FaultCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            FaultCode::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
            FaultCode::Cancelled | FaultCode::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            FaultCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let retry = self.fault.code.retry();
        let mut response = (status, Json(self.fault)).into_response();
        if retry {
            let wait = HeaderValue::from(self.wait_s);
            response.headers_mut().insert(header::RETRY_AFTER, wait);
        }
        response
    }
}
