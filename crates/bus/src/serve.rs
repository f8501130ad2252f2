//! The answering side of a request.

use std::{future::Future, panic::AssertUnwindSafe, sync::Arc, time::Instant};

use async_nats::{HeaderMap, Message, Subscriber};
use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use journeyman_schemas::{
    Request,
    envelope::Envelope,
    fault::{Fault, FaultCode},
};
use tokio::{sync::Semaphore, task::JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::{
    Bus, BusError, Observer,
    connection::chain,
    deadline,
    request::{FAULT, STATUS_HEADER, WORKING},
};

/// A subject that is listened to; requests wait until [`Listening::serve`] takes them.
pub struct Listening {
    bus: Bus,
    subject: String,
    requests: Subscriber,
}

impl Bus {
    /// Listens on `subject`; replicas of the same service share its requests. When this returns, the server
    /// has been sent the subscription; an asker who is faster still finds no responder, and asks again.
    pub async fn listen(&self, subject: String) -> Result<Listening, BusError> {
        let unavailable = |cause| self.unavailable(format!("listening on `{subject}`"), cause);
        let queue = self.config.name.clone();
        let requests = self.client.queue_subscribe(subject.clone(), queue).await;
        let requests = requests.map_err(|error| unavailable(chain(&error)))?;
        self.client
            .flush()
            .await
            .map_err(|error| unavailable(chain(&error)))?;
        Ok(Listening {
            bus: self.clone(),
            subject,
            requests,
        })
    }
}

impl Listening {
    /// Answers until `stop`. At most `slots` requests are at work at once, the next is refused with
    /// [`FaultCode::Busy`]. A request ends at its deadline at the latest. After `stop` what is under way is answered,
    /// then this returns; dropping it ends them at once.
    pub async fn serve<R, F, Fut>(
        self,
        slots: usize,
        stop: CancellationToken,
        observer: Arc<dyn Observer>,
        handler: F,
    ) -> Result<(), BusError>
    where
        R: Request,
        F: Fn(Envelope<R>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R::Reply, Fault>> + Send + 'static,
    {
        let Self {
            bus,
            subject,
            mut requests,
        } = self;
        let handler = Arc::new(handler);
        let free = Arc::new(Semaphore::new(slots));
        let mut answers = JoinSet::new();
        loop {
            while answers.try_join_next().is_some() {}
            let message = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                message = requests.next() => message,
            };
            let Some(message) = message else {
                return Err(bus.unavailable(
                    format!("listening on `{subject}`"),
                    "the connection was closed".into(),
                ));
            };
            let Ok(slot) = free.clone().try_acquire_owned() else {
                let busy = Fault::new(
                    FaultCode::Busy,
                    format!("all {slots} slots of `{subject}` are taken"),
                );
                observer.answered(R::NAME, Some(busy.code), 0.0);
                bus.reply(message, Err::<Bytes, _>(busy)).await;
                continue;
            };
            let (bus, handler, observer) = (bus.clone(), handler.clone(), observer.clone());
            answers.spawn(async move {
                let started = Instant::now();
                let answer = bus.answer::<R, F, Fut>(&message, &*handler).await;
                observer.answered(
                    R::NAME,
                    answer.as_ref().err().map(|fault| fault.code),
                    started.elapsed().as_secs_f64(),
                );
                // Before the answer: who asks again on hearing it must find the slot free.
                drop(slot);
                bus.reply(message, answer).await;
            });
        }
        // What was sent to us before the server heard that we stop.
        if let Err(error) = requests.drain().await {
            tracing::debug!(subject, error = chain(&error), "subscription was gone already");
        }
        while let Some(Some(message)) = requests.next().now_or_never() {
            let stopping = Fault::new(FaultCode::Unavailable, format!("`{subject}` is stopping here"));
            bus.reply(message, Err::<Bytes, _>(stopping)).await;
        }
        while answers.join_next().await.is_some() {}
        Ok(())
    }
}

impl Bus {
    /// The encoded answer to one request, with signs of life while the handler works.
    async fn answer<R, F, Fut>(&self, message: &Message, handler: &F) -> Result<Bytes, Fault>
    where
        R: Request,
        F: Fn(Envelope<R>) -> Fut,
        Fut: Future<Output = Result<R::Reply, Fault>>,
    {
        let envelope: Envelope<R> = serde_json::from_slice(&message.payload)
            .map_err(|error| Fault::new(FaultCode::Invalid, format!("request can't be read: {error}")))?;
        let head = envelope.next(envelope.id.clone(), ());
        let late = || {
            Fault::new(
                FaultCode::DeadlineExceeded,
                format!("deadline of request `{}` passed", head.id),
            )
        };
        let left = deadline::left(head.deadline_ms).ok_or_else(late)?;
        let rollout = envelope.key.as_ref().map(ToString::to_string).unwrap_or_default();
        let span = tracing::info_span!(
            "request",
            name = R::NAME,
            id = envelope.id,
            rollout,
            attempt = envelope.attempt,
            traceparent = envelope.traceparent
        );
        let mut work = std::pin::pin!(
            AssertUnwindSafe(handler(envelope))
                .catch_unwind()
                .instrument(span)
        );
        let mut deadline = std::pin::pin!(tokio::time::sleep(left));
        let mut working = tokio::time::interval(self.config.timing.working);
        let body = loop {
            tokio::select! {
                biased;
                result = &mut work => match result {
                    Ok(result) => break result?,
                    Err(_) => return Err(Fault::new(FaultCode::Internal, "the handler panicked")),
                },
                () = &mut deadline => return Err(late()),
                _ = working.tick() => self.send(message, Some(WORKING), Bytes::new()).await,
            }
        };
        let bytes = serde_json::to_vec(&head.next(head.id.clone(), body))
            .map_err(|error| Fault::new(FaultCode::Internal, format!("answer can't be encoded: {error}")))?;
        let limit = self.max_payload();
        if bytes.len() > limit {
            let size = bytes.len();
            return Err(Fault::new(
                FaultCode::TooLarge,
                format!("answer has {size} bytes, allowed are {limit}"),
            ));
        }
        Ok(bytes.into())
    }

    async fn reply(&self, message: Message, answer: Result<Bytes, Fault>) {
        match answer {
            Ok(bytes) => self.send(&message, None, bytes).await,
            Err(fault) => {
                // A fault is a word and a text: it can always be written as JSON.
                let bytes = serde_json::to_vec(&fault).unwrap_or_default();
                self.send(&message, Some(FAULT), bytes.into()).await;
            }
        }
    }

    /// Sends to the asker, who may be gone: then there is nobody to tell.
    async fn send(&self, message: &Message, status: Option<&str>, body: Bytes) {
        let Some(inbox) = message.reply.clone() else {
            return;
        };
        let sent = match status {
            Some(status) => {
                let mut headers = HeaderMap::new();
                headers.insert(STATUS_HEADER, status);
                self.client.publish_with_headers(inbox, headers, body).await
            }
            None => self.client.publish(inbox, body).await,
        };
        if let Err(error) = sent {
            tracing::warn!(subject = %message.subject, error = chain(&error), "reply can't be sent");
        }
    }
}
