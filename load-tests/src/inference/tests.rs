//! The scenario against a stub server.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{Json, Router, http::StatusCode, routing::post};
use serde_json::{Value, json};

use super::{Options, median, run};

/// A server that answers at once, and counts.
#[expect(clippy::disallowed_methods, reason = "the stub runs beside the test")]
async fn stub(status: StatusCode, completion_tokens: u64) -> (String, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let answer = move |Json(body): Json<Value>| {
        counted.fetch_add(1, Ordering::Relaxed);
        let usage = json!({ "prompt_tokens": 90, "completion_tokens": completion_tokens });
        async move { (status, Json(json!({ "model": body["model"], "usage": usage }))) }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/v1/chat/completions", post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, count)
}

fn options(url: String, peers: Vec<String>) -> Options {
    Options {
        url,
        model: "stub".into(),
        parallel: vec![1, 4],
        prompt_tokens: 100,
        max_tokens: 20,
        rounds: 3,
        peer_url: peers,
        peer_model: None,
        same_prompt: false,
        timeout_s: 10,
    }
}

#[tokio::test]
async fn every_round_asks_in_parallel_after_one_warm_up() {
    let (url, count) = stub(StatusCode::OK, 20).await;
    let report = run(&options(url, vec![])).await.unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 1 + 3 * (1 + 4));
    let names = report
        .rows
        .iter()
        .map(|row| row.name.as_str())
        .collect::<Vec<_>>();
    assert_eq!(names, ["1 parallel, tok/s", "4 parallel, tok/s"]);
    assert!(
        report
            .rows
            .iter()
            .all(|row| row.ours > 0.0 && row.best_peer.is_none() && row.must.is_none())
    );
    assert!(report.holds() && report.title.contains("prompt 90 tokens"));
}

#[tokio::test]
async fn faster_peer_breaks_the_must() {
    let (ours, _) = stub(StatusCode::OK, 1).await;
    let (slow, _) = stub(StatusCode::OK, 2).await;
    let (fast, _) = stub(StatusCode::OK, 1_000_000).await;
    let report = run(&options(ours, vec![slow, fast])).await.unwrap();
    assert!(!report.holds());
    assert!(report.to_string().contains(">= 1.00 x  NOT MET"), "{report}");
    assert!(
        report
            .rows
            .iter()
            .all(|row| row.ratio.is_some_and(|ratio| ratio < 1.0))
    );
}

#[tokio::test]
async fn refusal_of_a_server_is_an_error_that_names_it() {
    let (url, _) = stub(StatusCode::TOO_MANY_REQUESTS, 1).await;
    let error = run(&options(url.clone(), vec![])).await.unwrap_err();
    assert!(
        error.to_string().contains(&url) && error.to_string().contains("429"),
        "{error}"
    );
}

#[tokio::test]
async fn unreachable_server_is_an_error_that_names_it() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = run(&options(url.clone(), vec![])).await.unwrap_err();
    assert!(error.to_string().contains(&url), "{error}");
}

#[test]
fn median_of_even_and_odd_counts() {
    assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
    assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
}
