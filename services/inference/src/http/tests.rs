//! The OpenAI-compatible port with a real client.

use std::{sync::Arc, time::Duration};

use journeyman_schemas::ids::ContentHash;
use serde_json::{Value, json};

use super::{BODY_LIMIT_BYTES, Front};
use crate::{
    config::{EngineConfig, HttpConfig},
    fixtures::{MemorySource, answerer, beside, strong_adapter},
    handler::Answerer,
};

struct Server {
    url: String,
    front: Front,
    answerer: Arc<Answerer>,
    client: reqwest::Client,
}

impl Server {
    async fn loading(config: HttpConfig, engine: &EngineConfig) -> Self {
        let source = MemorySource::with([strong_adapter(1).to_safetensors()]);
        let front = Front::new(config, Arc::new(()));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = front.router();
        beside(async move { axum::serve(listener, router).await });
        Self {
            url,
            front,
            answerer: answerer(engine, Arc::new(source)),
            client: reqwest::Client::new(),
        }
    }

    async fn start() -> Self {
        let server = Self::loading(HttpConfig::default(), &EngineConfig::default()).await;
        server.front.open(server.answerer.clone());
        server
    }

    async fn post(&self, body: impl Into<reqwest::Body>) -> (u16, Value) {
        let request = self
            .client
            .post(format!("{}/v1/chat/completions", self.url))
            .body(body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    async fn chat(&self, changes: Value) -> (u16, Value) {
        let mut body = json!({
            "model": "smollm2",
            "messages": [{ "role": "user", "content": "Say hi." }],
            "max_tokens": 4,
            "seed": 3,
        });
        let fields = changes.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(fields);
        self.post(body.to_string()).await
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        let response = self
            .client
            .get(format!("{}{path}", self.url))
            .send()
            .await
            .unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }
}

#[tokio::test]
async fn chat_completion_has_openai_form() {
    let server = Server::start().await;
    let (status, answer) = server
        .chat(json!({ "n": 2, "logprobs": true, "never_heard_of": 1, "stop": null }))
        .await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(answer["model"], "smollm2");
    let choices = answer["choices"].as_array().unwrap();
    assert_eq!(choices.len(), 2);
    for (index, choice) in choices.iter().enumerate() {
        assert_eq!(
            (&choice["index"], &choice["message"]["role"]),
            (&json!(index), &json!("assistant"))
        );
        assert!(choice["message"]["content"].is_string());
        assert!(["stop", "length"].contains(&choice["finish_reason"].as_str().unwrap()));
        assert!(choice["logprobs"]["content"][0]["logprob"].as_f64().unwrap() <= 0.0);
    }
    let usage = &answer["usage"];
    let counts =
        ["prompt_tokens", "completion_tokens", "total_tokens"].map(|name| usage[name].as_u64().unwrap());
    assert!(
        counts[0] > 5 && counts[1] <= 8 && counts[0] + counts[1] == counts[2],
        "{usage}"
    );

    let parts = json!({ "messages": [{ "role": "user", "content": [{ "type": "text", "text": "Say hi." }] }], "n": 2 });
    let (_, again) = server.chat(parts).await;
    assert_eq!(
        again["choices"][1]["message"], choices[1]["message"],
        "the same seed, the same text"
    );
}

#[tokio::test]
async fn wrong_values_are_refused_by_name() {
    let server = Server::start().await;
    let cases = [
        (json!({ "temperature": -1 }), "temperature"),
        (json!({ "temperature": "hot" }), "temperature"),
        (json!({ "top_p": 0 }), "top_p"),
        (json!({ "top_k": -1 }), "top_k"),
        (json!({ "min_p": 2 }), "min_p"),
        (json!({ "presence_penalty": 3 }), "presence_penalty"),
        (json!({ "max_tokens": 0 }), "max_tokens"),
        (json!({ "max_tokens": 1.5 }), "max_tokens"),
        (json!({ "min_tokens": 9 }), "min_tokens"),
        (json!({ "n": 0 }), "n"),
        (json!({ "n": 100_000 }), "n"),
        (json!({ "seed": "x" }), "seed"),
        (json!({ "stop": 7 }), "stop"),
        (json!({ "stop": [""] }), "stop"),
        (json!({ "stop": vec!["a"; 17] }), "stop"),
        (json!({ "stream": true }), "stream"),
        (json!({ "top_logprobs": 5 }), "top_logprobs"),
        (json!({ "logprobs": 5 }), "logprobs"),
        (json!({ "model": null }), "model"),
        (json!({ "messages": null }), "messages"),
        (json!({ "messages": [] }), "messages"),
        (json!({ "messages": ["hi"] }), "messages[0]"),
        (
            json!({ "messages": [{ "role": "robot", "content": "" }] }),
            "messages[0].role",
        ),
        (
            json!({ "messages": [{ "role": "user", "content": 5 }] }),
            "messages[0].content",
        ),
        (
            json!({ "messages": [{ "role": "user", "content": [{ "type": "image" }] }] }),
            "messages[0].content[0]",
        ),
    ];
    for (changes, field) in cases {
        let (status, answer) = server.chat(changes.clone()).await;
        assert_eq!(
            (status, &answer["error"]["param"]),
            (400, &json!(field)),
            "{changes}: {answer}"
        );
        assert_eq!(answer["error"]["type"], "invalid_request_error");
        assert!(
            answer["error"]["message"].as_str().unwrap().starts_with(field),
            "{answer}"
        );
    }
    let (status, answer) = server.chat(json!({})).await;
    assert_eq!(status, 200, "the server goes on: {answer}");
}

#[tokio::test]
async fn bodies_that_are_no_requests_are_refused() {
    let server = Server::start().await;
    for body in [
        "",
        "{",
        "[]",
        "7",
        "{\"model\": \"smollm2\", \"messages\": \u{1}}",
    ] {
        let (status, answer) = server.post(body).await;
        assert_eq!(status, 400, "{body:?}: {answer}");
    }
    let (status, _) = server.post(b"{\"model\": \"\xff\"}".to_vec()).await;
    assert_eq!(status, 400);
    let (status, answer) = server.post(vec![b' '; BODY_LIMIT_BYTES + 1]).await;
    assert_eq!((status, &answer["error"]["code"]), (413, &json!("too_large")));
    let long = "word ".repeat(9000);
    let (status, answer) = server
        .chat(json!({ "messages": [{ "role": "user", "content": long }] }))
        .await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        status == 400 && message.contains("context of `8192`") && message.contains("`90"),
        "{answer}"
    );
    let (status, _) = server.get("/v1/nothing").await;
    assert_eq!(status, 404);
    let (status, _) = server.get("/v1/chat/completions").await;
    assert_eq!(status, 405);
}

#[tokio::test]
async fn adapter_is_chosen_by_model_name_and_listed() {
    let server = Server::start().await;
    let hash = ContentHash::of(&strong_adapter(1).to_safetensors());
    let (status, adapted) = server.chat(json!({ "model": hash, "temperature": 0 })).await;
    assert_eq!(status, 200, "{adapted}");
    assert_eq!(
        (&adapted["adapter"], &adapted["model"]),
        (&json!(hash), &json!(hash))
    );
    let (_, models) = server.get("/v1/models").await;
    assert_eq!(models["data"][0]["id"], "smollm2");
    assert_eq!(
        (&models["data"][1]["id"], &models["data"][1]["parent"]),
        (&json!(hash), &json!("smollm2"))
    );
    for unknown in ["gpt-5", &"0".repeat(64)] {
        let (status, answer) = server.chat(json!({ "model": unknown })).await;
        assert_eq!((status, &answer["error"]["code"]), (404, &json!("not_found")));
    }
}

#[tokio::test]
async fn health_and_requests_say_loading_until_the_model_is_there() {
    let server = Server::loading(HttpConfig::default(), &EngineConfig::default()).await;
    assert_eq!(server.get("/health").await, (503, json!({ "status": "loading" })));
    assert_eq!(server.chat(json!({})).await.0, 503);
    server.front.open(server.answerer.clone());
    assert_eq!(server.get("/health").await, (200, json!({ "status": "ok" })));
}

#[tokio::test]
async fn wrong_key_is_refused() {
    let config = HttpConfig {
        api_key: "sesame".into(),
        ..HttpConfig::default()
    };
    let server = Server::loading(config, &EngineConfig::default()).await;
    server.front.open(server.answerer.clone());
    assert_eq!(server.get("/v1/models").await.0, 401);
    let with_key = |key: &str| {
        server
            .client
            .get(format!("{}/v1/models", server.url))
            .bearer_auth(key)
            .send()
    };
    assert_eq!(with_key("sesam").await.unwrap().status(), 401);
    assert_eq!(with_key("sesame").await.unwrap().status(), 200);
    assert_eq!(server.get("/health").await.0, 200, "probes need no key");
}

#[tokio::test]
async fn client_that_hangs_up_frees_its_row_and_a_full_queue_is_429() {
    let one = EngineConfig {
        max_rows: 1,
        max_waiting: 1,
        ..EngineConfig::default()
    };
    let server = Arc::new(Server::loading(HttpConfig::default(), &one).await);
    server.front.open(server.answerer.clone());
    let long = json!({ "max_tokens": 4000, "min_tokens": 4000 });
    let ask = |body: Value| {
        let server = server.clone();
        beside(async move { server.chat(body).await })
    };
    let totals = server.answerer.engine.totals();
    let running = ask(long.clone());
    reached(|| totals.rows() == 1).await;
    let waiting = ask(long);
    reached(|| totals.waiting() == 1).await;
    let (status, answer) = server.chat(json!({})).await;
    assert_eq!(
        (status, &answer["error"]["type"]),
        (429, &json!("rate_limit_error"))
    );
    running.abort();
    waiting.abort();
    reached(|| totals.rows() == 0).await;
    assert_eq!(server.chat(json!({})).await.0, 200);
}

async fn reached(condition: impl Fn() -> bool) {
    let watched = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), watched)
        .await
        .expect("the condition is reached");
}
