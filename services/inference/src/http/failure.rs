//! Failures as OpenAI words them: `{"error": {"message", "type", "param", "code"}}`.

use axum::{
    Json,
    extract::rejection::BytesRejection,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use journeyman_schemas::fault::FaultCode;
use serde_json::json;

use super::BODY_LIMIT_BYTES;
use crate::error::AnswerError;

/// A failed request.
#[derive(Debug)]
pub(super) struct Failure {
    status: StatusCode,
    message: String,
    /// The field at fault.
    param: Option<String>,
    code: Option<&'static str>,
}

impl Failure {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            param: None,
            code: Some(code),
        }
    }

    pub(super) fn loading() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "loading",
            "the model is being loaded",
        )
    }

    pub(super) fn no_route() -> Self {
        let message = "no such path: there are `/v1/chat/completions`, `/v1/models` and `/health`";
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(super) fn wrong_method() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "this path has another method",
        )
    }

    pub(super) fn wrong_key() -> Self {
        let message = "no or wrong API key: send `Authorization: Bearer <key>`";
        Self::new(StatusCode::UNAUTHORIZED, "invalid_api_key", message)
    }

    pub(super) fn body(rejection: &BytesRejection) -> Self {
        match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                let message = format!("the body is larger than `{BODY_LIMIT_BYTES}` bytes");
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
            }
            status => Self::new(status, "bad_body", rejection.body_text()),
        }
    }

    pub(super) fn json(error: &serde_json::Error) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "invalid_json",
            format!("the body is not JSON: {error}"),
        )
    }
}

impl From<AnswerError> for Failure {
    fn from(error: AnswerError) -> Self {
        let status = match error.code() {
            FaultCode::Invalid => StatusCode::BAD_REQUEST,
            FaultCode::NotFound => StatusCode::NOT_FOUND,
            FaultCode::Busy => StatusCode::TOO_MANY_REQUESTS,
            FaultCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            FaultCode::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
            FaultCode::Cancelled | FaultCode::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            FaultCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let mut failure = Self::new(status, error.code().as_str(), error.to_string());
        if let AnswerError::Field { field, .. } = error {
            failure.param = Some(field);
        }
        failure
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let kind = match self.status.as_u16() {
            401 => "authentication_error",
            429 => "rate_limit_error",
            400..=499 => "invalid_request_error",
            _ => "server_error",
        };
        let error = json!({ "message": self.message, "type": kind, "param": self.param, "code": self.code });
        let mut response = (self.status, Json(json!({ "error": error }))).into_response();
        if matches!(
            self.status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        ) {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
