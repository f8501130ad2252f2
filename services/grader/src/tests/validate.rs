//! The validation endpoint: what it tells, what it never tells, and how often.

use journeyman_bus::RequestError;
use journeyman_schemas::{
    fault::FaultCode,
    validate::{Validate, Validated},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::*;

/// Task, file, and the kind of what is wrong with it, if anything; with words of the sentence that says so.
fn corpus() -> Vec<(&'static str, Vec<u8>, Option<&'static str>, &'static str)> {
    let good = "well formed";
    let columns = (0..10_000).map(|i| format!("c{i}")).collect::<Vec<_>>().join(",");
    let text: [(&str, &str, Option<&str>, &str); 23] = [
        ("toy", HALF_RIGHT, None, good),
        ("toy", "y,id\n0.4,d\n0.1,a\n0.2,b\n0.3,c\n", None, good),
        ("toy", "\u{feff}id,y\na,0.1\nb,0.2\nc,0.3\nd,0.4\n", None, good),
        ("toy", "id,y\r\na,0.1\r\nb,0.2\r\nc,0.3\r\nd,0.4\r\n", None, good),
        ("labels", "id,y\na,0\nb,1.0\nc,1\nd,0\n", None, good),
        ("toy", "", Some("empty"), "write a header and one row"),
        ("toy", "id,y\n", Some("rows"), "has 0 rows, but needs 4"),
        (
            "toy",
            "id,y\na,0\0",
            Some("not_csv"),
            "byte 8 is NUL; write plain text",
        ),
        (
            "toy",
            "id,y\n\"a,0\nb,0\nc,0\nd,0\n",
            Some("not_csv"),
            "is never closed; write it twice",
        ),
        (
            "toy",
            "id,y\na,0\na,0\nc,0\nd,0\n",
            Some("ids"),
            "write each id once",
        ),
        (
            "toy",
            "id,y\na,0\nb,0\nc,0\n",
            Some("rows"),
            "has 3 rows, but needs 4",
        ),
        (
            "toy",
            "id,y\na,0\nb,0\nc,0\ne,0\n",
            Some("ids"),
            "copy the column `id` of test.csv",
        ),
        (
            "toy",
            "id,y,z\na,0,0\n",
            Some("columns"),
            "an extra column `z`; the columns must be `id`, `y`",
        ),
        ("toy", ",id,y\n0,a,0\n", Some("columns"), "save with index=False"),
        (
            "toy",
            "id,y\na,1,000\nb,0\nc,0\nd,0\n",
            Some("fields"),
            "without thousands separators",
        ),
        (
            "toy",
            "id,y\na,\"1,000\"\nb,0\nc,0\nd,0\n",
            Some("values"),
            "without thousands separators",
        ),
        (
            "toy",
            "id,y\na,inf\nb,0\nc,0\nd,0\n",
            Some("values"),
            "clip or replace such values",
        ),
        (
            "toy",
            "id,y\na,1e400\nb,0\nc,0\nd,0\n",
            Some("values"),
            "clip or replace such values",
        ),
        (
            "toy",
            "id,y\na,-0.1\nb,0\nc,0\nd,0\n",
            Some("values"),
            "probabilities from 0 to 1",
        ),
        (
            "toy",
            "id,y\na,\nb,0\nc,0\nd,0\n",
            Some("values"),
            "write a number in every row",
        ),
        (
            "labels",
            "id,y\na,2\nb,1\nc,1\nd,0\n",
            Some("values"),
            "is not one of the labels `0`, `1`",
        ),
        (
            "labels",
            "id,y\na,0.7\nb,1\nc,1\nd,0\n",
            Some("values"),
            "is not one of the labels `0`, `1`",
        ),
        (
            "toy",
            &columns,
            Some("columns"),
            "has 10000 columns; the columns must be `id`, `y`",
        ),
    ];
    let mut corpus: Vec<_> = text
        .into_iter()
        .map(|(task, text, kind, words)| (task, text.as_bytes().to_vec(), kind, words))
        .collect();
    corpus.push((
        "toy",
        b"id,y\n\xe9,0.5\n".to_vec(),
        Some("not_csv"),
        "encoding=\"utf-8\"",
    ));
    corpus.push((
        "toy",
        b"\x1f\x8b\x08\x00\x00".to_vec(),
        Some("not_csv"),
        "compressed; write plain text",
    ));
    corpus
}

async fn unlimited(answers: &str, halves: &str) -> Cluster {
    Cluster::start_with(answers, halves, |config| {
        // As many columns as the corpus has.
        config.grader.submission_bytes = 60_000;
        config.grader.validate.per_minute = 0;
    })
    .await
}

impl Cluster {
    /// The HTTP port, as `journeyman status` finds it.
    async fn http(&self) -> String {
        let port = || async {
            let services = self.store.services().await.unwrap();
            services.first()?.numbers.get("http_port").copied()
        };
        eventually(PATIENCE, || async { port().await.is_some() }).await;
        format!("http://127.0.0.1:{}", port().await.unwrap())
    }

    async fn ask(&self, task: &str, asker: &str, csv: &[u8]) -> Result<Validated, RequestError> {
        let body = Validate {
            task: TaskId::new(task).unwrap(),
            asker: asker.into(),
            submission: self.store.put_blob(csv).await.unwrap(),
        };
        let deadline_ms = Clock::system().now_ms() + 30_000;
        let envelope = Envelope::new("q".into(), None, 1, deadline_ms, String::new(), body);
        self.bus.request(&envelope).await.map(|answer| answer.body)
    }
}

async fn post(url: &str, task: &str, csv: Vec<u8>) -> (u16, Option<String>, String) {
    let response = reqwest::Client::new()
        .post(format!("{url}/validate?task={task}"))
        .body(csv)
        .send()
        .await
        .unwrap();
    let retry = response
        .headers()
        .get("retry-after")
        .map(|value| value.to_str().unwrap().to_owned());
    (response.status().as_u16(), retry, response.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_bad_file_gets_its_kind_and_what_to_change_the_same_over_nats_and_http() {
    let cluster = unlimited(ANSWERS, HALVES).await;
    let url = cluster.http().await;
    let (mut valid, mut invalid) = (0.0, 0.0);
    for (task, csv, kind, words) in corpus() {
        let shown = String::from_utf8_lossy(&csv[..csv.len().min(60)]).into_owned();
        let answer = cluster.ask(task, "agent", &csv).await.unwrap();
        assert_eq!(answer.kind.as_deref(), kind, "{shown:?}: {answer:?}");
        assert_eq!(answer.valid, kind.is_none());
        assert!(answer.message.contains(words), "{shown:?}: {answer:?}");
        let (status, _, text) = post(&url, task, csv).await;
        let over_http: Validated = serde_json::from_str(&text).unwrap();
        assert_eq!((status, over_http), (200, answer), "{shown:?}");
        *if kind.is_none() { &mut valid } else { &mut invalid } += 2.0;
    }
    cluster.counted(Metric::Validations, &["valid"], valid).await;
    cluster.counted(Metric::Validations, &["invalid"], invalid).await;
    cluster
        .counted(Metric::Requests, &["validate", "ok"], valid + invalid)
        .await;
    cluster.service.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_stay_equal_to_the_byte_when_labels_and_halves_are_permuted() {
    let [mut first, mut second] = [Vec::new(), Vec::new()];
    for (texts, answers, halves) in [
        (&mut first, ANSWERS, HALVES),
        (
            &mut second,
            "id,y\na,1\nb,1\nc,0\nd,0\n",
            "id,half\na,report\nb,reward\nc,reward\nd,report\n",
        ),
    ] {
        let cluster = unlimited(answers, halves).await;
        let url = cluster.http().await;
        for (task, csv, ..) in corpus() {
            texts.push(post(&url, task, csv).await);
        }
        cluster.service.stop().await.unwrap();
    }
    assert_eq!(first, second);
    assert!(first.len() > 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn file_of_two_gigabytes_is_refused_before_it_is_sent() {
    let cluster = Cluster::start().await;
    let address = cluster.http().await.replace("http://", "");
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let head = format!(
        "POST /validate?task=toy HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n",
        2u64 << 30
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 2048];
    let length = tokio::time::timeout(PATIENCE, stream.read(&mut answer))
        .await
        .expect("it does not wait for the body")
        .unwrap();
    let answer = String::from_utf8_lossy(&answer[..length]);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(
        answer.contains("too_large") && answer.contains("it has 2147483648 bytes; at most 1000 are read"),
        "{answer}"
    );
    cluster.service.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn asker_that_asks_too_often_is_told_when_to_ask_again() {
    let cluster = Cluster::start_with(ANSWERS, HALVES, |config| {
        config.grader.validate.per_minute = 2;
    })
    .await;
    let url = cluster.http().await;
    let good = HALF_RIGHT.as_bytes();
    let mut limited = 0.0;
    // A minute may end in between, once: of 7 questions at most 4 are answered.
    for question in 0..7 {
        match cluster.ask("toy", "agent", good).await {
            Ok(answer) => assert!(answer.valid),
            Err(RequestError::Fault { fault, .. }) => {
                assert!(question >= 2);
                assert_eq!(fault.code, FaultCode::Busy);
                assert!(fault.message.contains("2 are answered; ask again in"), "{fault}");
                limited += 1.0;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(limited >= 3.0, "{limited}");
    // Others are not held up, over HTTP the address counts.
    assert!(cluster.ask("toy", "other", good).await.unwrap().valid);
    let mut statuses = Vec::new();
    for _ in 0..7 {
        let (status, retry, _) = post(&url, "toy", good.to_vec()).await;
        assert_eq!(retry.is_some(), status == 429);
        limited += f64::from(u8::from(status == 429));
        statuses.push(status);
    }
    assert_eq!(statuses[..2], [200, 200]);
    assert!(statuses.iter().filter(|status| **status == 429).count() >= 3);
    cluster.counted(Metric::Validations, &["limited"], limited).await;
    cluster.service.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn question_that_can_not_be_answered_says_why_and_quotes_no_answer() {
    let cluster = unlimited(ANSWERS, HALVES).await;
    let url = cluster.http().await;
    let home = cluster.tasks.path();
    write_task(&home.join("broken"), "auc", "id,y\na,secret\n", HALVES);
    for (path, status, wanted) in [
        ("/validate?task=chess", 404, "task `chess` is not known here"),
        ("/validate?task=broken", 404, "task `broken` is not known here"),
        (
            "/validate",
            400,
            "name the task, as in `/validate?task=mlc-churn`",
        ),
        ("/validate?task=../x", 400, "name the task"),
        ("/other", 404, "no such path"),
    ] {
        let response = reqwest::Client::new()
            .post(format!("{url}{path}"))
            .body("id,y\n")
            .send()
            .await
            .unwrap();
        assert_eq!(response.status().as_u16(), status, "{path}");
        let text = response.text().await.unwrap();
        assert!(
            text.contains(wanted) && !text.contains("secret"),
            "{path}: {text}"
        );
    }
    let health = reqwest::get(format!("{url}/health")).await.unwrap();
    assert_eq!(health.text().await.unwrap(), "{\"status\":\"ok\"}");
    for (asker, task, wanted) in [
        ("", "toy", "`asker` must be"),
        ("a b", "toy", "`asker` must be"),
        ("a", "chess", "not known"),
    ] {
        let fault = cluster.ask(task, asker, b"x").await.unwrap_err().to_string();
        assert!(fault.contains(wanted), "{fault}");
    }
    cluster.service.stop().await.unwrap();
}
