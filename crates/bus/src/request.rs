//! One question, one answer, with signs of life in between.
//!
//! The reply inbox gets any number of messages with header `Jm-Status: working` (no body), then one last message: with
//! `Jm-Status: fault` and a [`Fault`] as body, or without that header and with an [`Envelope`] of the answer. A
//! responder in another language that sends the last one alone is understood, if it is quick enough.

use async_nats::{Message, StatusCode};
use futures::StreamExt;
use journeyman_schemas::{Request, envelope::Envelope, fault::Fault};

use crate::{Bus, BusError, RequestError, connection::chain, deadline, publish::encode};

/// Header of a reply that is not an answer.
pub(crate) const STATUS_HEADER: &str = "Jm-Status";
/// The responder is alive and at work.
pub(crate) const WORKING: &str = "working";
/// The body is a [`Fault`].
pub(crate) const FAULT: &str = "fault";

impl Bus {
    /// Asks, and waits for the answer until the envelope's deadline. A responder that is slow but alive is waited for;
    /// one that shows no sign of life for `timing.silence` is not. A question that nobody listens to fails at once.
    pub async fn request<R: Request>(
        &self,
        envelope: &Envelope<R>,
    ) -> Result<Envelope<R::Reply>, RequestError> {
        let subject = envelope.body.subject();
        let payload = encode(&subject, envelope)?;
        let (size, limit) = (payload.len(), self.max_payload());
        if size > limit {
            return Err(RequestError::TooLarge { subject, size, limit });
        }
        let inbox = self.client.new_inbox();
        let mut replies = self
            .client
            .subscribe(inbox.clone())
            .await
            .map_err(|error| self.request_failed(&subject, &error))?;
        self.client
            .publish_with_reply(subject.clone(), inbox, payload)
            .await
            .map_err(|error| self.request_failed(&subject, &error))?;
        let silence = self.config.timing.silence;
        loop {
            let Some(left) = deadline::left(envelope.deadline_ms) else {
                return Err(RequestError::DeadlineExceeded { subject });
            };
            match tokio::time::timeout(silence.min(left), replies.next()).await {
                Err(_) if left <= silence => return Err(RequestError::DeadlineExceeded { subject }),
                Err(_) => return Err(RequestError::Silent { subject, silence }),
                Ok(None) => {
                    let cause = "the connection was closed".to_string();
                    return Err(self.unavailable(format!("asking `{subject}`"), cause).into());
                }
                Ok(Some(reply)) => match status(&reply) {
                    Some(WORKING) => {}
                    Some(FAULT) => return Err(fault(subject, &reply)),
                    _ if reply.status == Some(StatusCode::NO_RESPONDERS) => {
                        return Err(RequestError::NoResponder { subject });
                    }
                    _ => {
                        return serde_json::from_slice(&reply.payload)
                            .map_err(|cause| RequestError::Decode { subject, cause });
                    }
                },
            }
        }
    }

    fn request_failed(&self, subject: &str, error: &dyn std::error::Error) -> BusError {
        self.unavailable(format!("asking `{subject}`"), chain(error))
    }
}

fn status(reply: &Message) -> Option<&str> {
    Some(reply.headers.as_ref()?.get(STATUS_HEADER)?.as_str())
}

fn fault(subject: String, reply: &Message) -> RequestError {
    match serde_json::from_slice::<Fault>(&reply.payload) {
        Ok(fault) => RequestError::Fault { subject, fault },
        Err(cause) => RequestError::Decode { subject, cause },
    }
}
