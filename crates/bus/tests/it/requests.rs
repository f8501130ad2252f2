//! Requests: answered, refused, or known to be lost.

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::StreamExt;
use journeyman_bus::{BusError, RequestError};
use journeyman_schemas::{
    Request,
    envelope::Envelope,
    fault::{Fault, FaultCode},
    generate::{ChatMessage, FinishReason, Generate, Prompt, Sampling},
    ids::ModelId,
};
use journeyman_testkit::{ScriptedLm, eventually};
use serde::{Deserialize, Serialize};
use tokio::{task::JoinHandle, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::desk::{Desk, LONG, envelope, short_timing};

const SUBJECT: &str = "jm.test.echo";

#[derive(Serialize, Deserialize)]
struct Echo {
    text: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Echoed {
    text: String,
}

impl Request for Echo {
    const NAME: &'static str = "echo";
    type Reply = Echoed;
    fn subject(&self) -> String {
        SUBJECT.into()
    }
}

fn ask(text: &str) -> Envelope<Echo> {
    envelope(0, 10_000, Echo { text: text.into() })
}

/// A responder that listens once this returns.
async fn serve<F, Fut>(
    desk: &Desk,
    slots: usize,
    handler: F,
) -> (CancellationToken, JoinHandle<Result<(), BusError>>)
where
    F: Fn(Envelope<Echo>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Echoed, Fault>> + Send + 'static,
{
    let stop = CancellationToken::new();
    let listening = desk.bus.listen(SUBJECT.into()).await.unwrap();
    let task = tokio::spawn(listening.serve(slots, stop.clone(), Arc::new(()), handler));
    (stop, task)
}

/// A plain listener that the server knows of: it has heard itself.
async fn listen(desk: &Desk) -> (async_nats::Client, async_nats::Subscriber) {
    let client = async_nats::connect(desk.server.url()).await.unwrap();
    let mut questions = client.subscribe(SUBJECT).await.unwrap();
    client.publish(SUBJECT, "hello".into()).await.unwrap();
    questions.next().await.unwrap();
    (client, questions)
}

async fn echo(request: Envelope<Echo>) -> Result<Echoed, Fault> {
    Ok(Echoed {
        text: request.body.text,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn question_is_answered_under_its_own_id_and_trace() {
    let desk = Desk::open().await;
    let (stop, task) = serve(&desk, 4, echo).await;
    let question = ask("hello");
    let answer = desk.bus.request(&question).await.unwrap();
    assert_eq!(answer.body, Echoed { text: "hello".into() });
    assert_eq!(
        (answer.id, answer.key, answer.traceparent),
        (question.id, question.key, question.traceparent)
    );
    stop.cancel();
    task.await.unwrap().unwrap();
}

#[tokio::test]
async fn question_that_nobody_hears_fails_at_once() {
    let desk = Desk::open().await;
    let started = Instant::now();
    let error = desk.bus.request(&ask("hello")).await.unwrap_err();
    assert!(
        matches!(&error, RequestError::NoResponder { subject } if subject == SUBJECT),
        "{error}"
    );
    assert!(
        started.elapsed() < short_timing().silence,
        "{:?}",
        started.elapsed()
    );
    assert!(error.retry());
}

#[tokio::test]
async fn responder_without_a_sign_of_life_is_noticed() {
    let desk = Desk::open().await;
    let _deaf = listen(&desk).await;
    let started = Instant::now();
    let error = desk.bus.request(&ask("hello")).await.unwrap_err();
    assert!(matches!(error, RequestError::Silent { .. }), "{error}");
    assert!(
        started.elapsed() < Duration::from_secs(8),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn responder_slower_than_the_silence_is_waited_for() {
    let desk = Desk::open().await;
    let slow = |request| async {
        sleep(Duration::from_millis(4500)).await;
        echo(request).await
    };
    let _responder = serve(&desk, 4, slow).await;
    assert_eq!(desk.bus.request(&ask("late")).await.unwrap().body.text, "late");
}

#[tokio::test(flavor = "multi_thread")]
async fn deadline_ends_a_question_on_both_sides() {
    let desk = Desk::open().await;
    let _responder = serve(&desk, 1, |_| std::future::pending()).await;
    let question = envelope(0, 400, Echo { text: "never".into() });
    let error = desk.bus.request(&question).await.unwrap_err();
    let late = match &error {
        RequestError::DeadlineExceeded { .. } => true,
        RequestError::Fault { fault, .. } => fault.code == FaultCode::DeadlineExceeded,
        _ => false,
    };
    assert!(late, "{error}");
    // The slot is free again.
    eventually(LONG, async || {
        let question = envelope(0, 200, Echo { text: "never".into() });
        let error = desk.bus.request(&question).await.unwrap_err();
        !matches!(error, RequestError::Fault { fault, .. } if fault.code == FaultCode::Busy)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn question_beyond_the_slots_is_refused_as_busy() {
    let desk = Desk::open().await;
    let _responder = serve(&desk, 1, |_| std::future::pending()).await;
    let bus = desk.bus.clone();
    let first = tokio::spawn(async move {
        // Until it is the one that holds the slot.
        while bus.request(&ask("first")).await.is_err() {}
    });
    eventually(LONG, async || {
        let second = envelope(
            1,
            300,
            Echo {
                text: "second".into(),
            },
        );
        let error = desk.bus.request(&second).await.unwrap_err();
        matches!(&error, RequestError::Fault { fault, .. } if fault.code == FaultCode::Busy) && error.retry()
    })
    .await;
    first.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn fault_of_the_handler_reaches_the_asker() {
    let desk = Desk::open().await;
    let refuse = |_| async { Err(Fault::new(FaultCode::NotFound, "no model `x`")) };
    let _responder = serve(&desk, 4, refuse).await;
    let error = desk.bus.request(&ask("hello")).await.unwrap_err();
    let RequestError::Fault { fault, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(*fault, Fault::new(FaultCode::NotFound, "no model `x`"));
    assert!(!error.retry());
}

#[tokio::test(flavor = "multi_thread")]
async fn handler_that_panics_is_an_internal_fault_and_frees_its_slot() {
    let desk = Desk::open().await;
    let moody = |request: Envelope<Echo>| async {
        assert!(request.body.text != "boom", "as asked");
        echo(request).await
    };
    let _responder = serve(&desk, 1, moody).await;
    let error = desk.bus.request(&ask("boom")).await.unwrap_err();
    assert!(
        matches!(&error, RequestError::Fault { fault, .. } if fault.code == FaultCode::Internal),
        "{error}"
    );
    eventually(LONG, async || desk.bus.request(&ask("fine")).await.is_ok()).await;
}

// dynamo#9734: what exceeds the server's limit came out as a time-out.
#[tokio::test(flavor = "multi_thread")]
async fn question_or_answer_over_the_servers_limit_is_said_to_be_too_large() {
    let desk = Desk::open_with("max_payload: 65536").await;
    let bloat = |_| async {
        Ok(Echoed {
            text: "x".repeat(70_000),
        })
    };
    let _responder = serve(&desk, 4, bloat).await;
    let error = desk.bus.request(&ask("hello")).await.unwrap_err();
    let RequestError::Fault { fault, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(fault.code, FaultCode::TooLarge);
    assert!(fault.message.contains("65536"), "{fault}");
    let error = desk.bus.request(&ask(&"x".repeat(70_000))).await.unwrap_err();
    assert!(matches!(error, RequestError::TooLarge { size, limit: 65_536, .. } if size > 70_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn responder_in_another_language_needs_one_message_only() {
    let desk = Desk::open().await;
    let (client, mut questions) = listen(&desk).await;
    let responder = tokio::spawn(async move {
        for answer in [
            r#"{"schema":9,"id":"a","key":null,"attempt":1,"deadline_ms":0,"traceparent":"","body":{"text":"hi","new":1}}"#,
            "hm",
        ] {
            let question = questions.next().await.unwrap();
            client
                .publish(question.reply.unwrap(), answer.into())
                .await
                .unwrap();
        }
        client.flush().await.unwrap();
    });
    assert_eq!(desk.bus.request(&ask("hello")).await.unwrap().body.text, "hi");
    let error = desk.bus.request(&ask("hello")).await.unwrap_err();
    assert!(matches!(error, RequestError::Decode { .. }), "{error}");
    responder.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn responder_that_stops_answers_what_it_has() {
    let desk = Desk::open().await;
    let slow = |request| async {
        sleep(Duration::from_millis(600)).await;
        echo(request).await
    };
    let (stop, task) = serve(&desk, 4, slow).await;
    let bus = desk.bus.clone();
    let asked = tokio::spawn(async move { bus.request(&ask("last")).await });
    sleep(Duration::from_millis(200)).await;
    stop.cancel();
    assert_eq!(asked.await.unwrap().unwrap().body.text, "last");
    task.await.unwrap().unwrap();
    let error = desk.bus.request(&ask("more")).await.unwrap_err();
    assert!(matches!(error, RequestError::NoResponder { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn scripted_model_answers_each_sample_by_its_index() {
    let desk = Desk::open().await;
    let model = ModelId::new("tiny").unwrap();
    let lm = ScriptedLm::start(&desk.bus, &model, |_, index| Ok(format!("sample {index}")));
    let message = ChatMessage {
        role: "user".into(),
        content: "hi".into(),
    };
    let prompt = Prompt::Messages(vec![message]);
    let generate = Generate {
        model,
        adapter: None,
        prompt,
        sampling: Sampling::training(9, 1, 4),
        n: 2,
    };
    let question = envelope(0, 10_000, generate);
    eventually(LONG, async || desk.bus.request(&question).await.is_ok()).await;
    let answer = desk.bus.request(&question).await.unwrap().body;
    let texts: Vec<&str> = answer.samples.iter().map(|sample| sample.text.as_str()).collect();
    assert_eq!(texts, ["sample 4", "sample 5"]);
    assert_eq!(answer.samples[0].token_ids.len(), 9);
    assert_eq!(answer.samples[0].finish_reason, FinishReason::Stop);
    assert_eq!(lm.asked().len(), 2);
    lm.stop().await;
}
