//! The whole service over real NATS and Redis.

use std::time::Duration;

use journeyman_bus::{Bus, RequestError};
use journeyman_schemas::{
    ADAPTERS_BUCKET,
    envelope::Envelope,
    event::{AdapterPublished, Cancel},
    fault::FaultCode,
    generate::{ChatMessage, Generate, Generated, Prompt, Sampling},
    ids::{ContentHash, RolloutKey, RunId},
};
use journeyman_service::{Clock, InProcess, Metric};
use journeyman_testkit::{NatsServer, RedisServer, eventually};

use crate::{
    NAME,
    config::Config,
    fixtures::{lm, model_id, model_path, strong_adapter},
    run,
};

struct Cluster {
    service: InProcess,
    bus: Bus,
    _nats: NatsServer,
    _redis: RedisServer,
}

impl Cluster {
    async fn start(change: impl FnOnce(&mut Config)) -> Self {
        let (nats, redis) = (NatsServer::start().unwrap(), RedisServer::start().unwrap());
        let mut config = Config::default();
        config.admin.listen = "127.0.0.1:0".into();
        config.nats.url = nats.url();
        config.redis.url = redis.url();
        config.inference.model.id = model_id();
        config.inference.model.path = model_path();
        change(&mut config);
        let service = InProcess::start(NAME, config, run).await.unwrap();
        let bus = Bus::connect(&nats.config("test")).await.unwrap();
        Self {
            service,
            bus,
            _nats: nats,
            _redis: redis,
        }
    }

    async fn ready(change: impl FnOnce(&mut Config)) -> Self {
        let cluster = Self::start(change).await;
        tokio::time::timeout(Duration::from_secs(300), cluster.service.ready.wait())
            .await
            .expect("it gets ready");
        cluster
    }

    async fn ask(&self, body: Generate) -> Result<Generated, RequestError> {
        let key = RolloutKey {
            run: run_id(),
            group: 0,
            rollout: 0,
        };
        let deadline_ms = Clock::system().now_ms() + 600_000;
        let envelope = Envelope::new(
            "churn/0/0/generate".into(),
            Some(key),
            1,
            deadline_ms,
            String::new(),
            body,
        );
        // The server may hear of our question before it hears that there is somebody to answer.
        loop {
            match self.bus.request(&envelope).await {
                Err(RequestError::NoResponder { .. }) => {}
                answer => return answer.map(|reply| reply.body),
            }
        }
    }

    async fn publish(&self, version: u64, file: &[u8]) -> ContentHash {
        let hash = ContentHash::of(file);
        self.bus
            .put_object(ADAPTERS_BUCKET, hash.as_str(), file)
            .await
            .unwrap();
        let event = AdapterPublished {
            run: run_id(),
            version,
            hash: hash.clone(),
            model: model_id(),
            base_sha256: lm().sha256.clone(),
            rank: 4,
            alpha: 8.0,
            targets: Vec::new(),
        };
        self.bus
            .publish(&format!("churn/adapter/{version}"), &event)
            .await
            .unwrap();
        hash
    }

    async fn counted(&self, metric: Metric, labels: &'static [&'static str], value: f64) {
        let metrics = self.service.metrics.clone();
        eventually(Duration::from_secs(120), || {
            let seen = metrics.value(metric, labels);
            async move { seen == value }
        })
        .await;
    }
}

fn run_id() -> RunId {
    RunId::new("churn").unwrap()
}

fn question(max_tokens: u32) -> Generate {
    let message = |role: &str, content: &str| ChatMessage {
        role: role.into(),
        content: content.into(),
    };
    Generate {
        model: model_id(),
        adapter: None,
        prompt: Prompt::Messages(vec![
            message("system", "You write Python."),
            message("user", "Print <|im_end|> twice."),
        ]),
        sampling: Sampling {
            min_tokens: max_tokens,
            ..Sampling::training(max_tokens, 11, 0)
        },
        n: 2,
    }
}

fn fault(error: RequestError) -> journeyman_schemas::fault::Fault {
    match error {
        RequestError::Fault { fault, .. } => fault,
        other => panic!("not a fault: {other}"),
    }
}

#[tokio::test]
async fn generates_over_nats_and_takes_new_adapters_without_restart() {
    let cluster = Cluster::ready(|_| {}).await;
    let base = cluster.ask(question(6)).await.unwrap();
    assert_eq!(
        (base.samples.len(), &base.adapter, &base.sampling),
        (2, &None, &question(6).sampling)
    );
    let prompt = &base.prompt_token_ids;
    let ends = prompt
        .iter()
        .filter(|id| lm().tokenizer.end_ids().contains(id))
        .count();
    assert_eq!(ends, 2, "the user's `<|im_end|>` stays text");
    let by_ids = Generate {
        prompt: Prompt::TokenIds(prompt.clone()),
        ..question(6)
    };
    assert_eq!(
        cluster.ask(by_ids).await.unwrap().samples[1].token_ids,
        base.samples[1].token_ids
    );

    let hash = cluster.publish(1, &strong_adapter(1).to_safetensors()).await;
    cluster.counted(Metric::AdapterLoads, &["ok"], 1.0).await;
    let adapted = cluster
        .ask(Generate {
            adapter: Some(hash.clone()),
            ..question(6)
        })
        .await
        .unwrap();
    assert_eq!(adapted.adapter, Some(hash));
    assert_ne!(adapted.samples[0].token_ids, base.samples[0].token_ids);

    cluster.publish(2, b"not an adapter").await;
    cluster.counted(Metric::AdapterLoads, &["failed"], 1.0).await;
    let corrupt = Generate {
        adapter: Some(ContentHash::of(b"not an adapter")),
        ..question(6)
    };
    assert_eq!(
        fault(cluster.ask(corrupt).await.unwrap_err()).code,
        FaultCode::Invalid
    );
    let unknown = Generate {
        adapter: Some(ContentHash::of(b"nobody")),
        ..question(6)
    };
    assert_eq!(
        fault(cluster.ask(unknown).await.unwrap_err()).code,
        FaultCode::NotFound
    );
    let outside = Generate {
        prompt: Prompt::TokenIds(vec![1, 49_152]),
        ..question(6)
    };
    let refusal = fault(cluster.ask(outside).await.unwrap_err());
    assert!(
        refusal.code == FaultCode::Invalid && refusal.message.contains("token_ids[1] is `49152`"),
        "{refusal}"
    );
    assert!(cluster.service.metrics.value(Metric::CompletionTokens, &[]) >= 36.0);
    cluster.service.stop().await.unwrap();
}

#[tokio::test]
async fn cancelled_run_frees_its_rows() {
    let cluster = Cluster::ready(|_| {}).await;
    let mut asked = Box::pin(cluster.ask(question(4000)));
    tokio::select! {
        answer = &mut asked => panic!("answered before the cancel: {answer:?}"),
        () = cluster.counted(Metric::BatchRows, &[], 2.0) => {}
    }
    let cancel = Cancel {
        run: run_id(),
        reason: "enough".into(),
    };
    cluster.bus.cancel_run(&cancel).await.unwrap();
    let answer = asked.await;
    assert_eq!(fault(answer.unwrap_err()).code, FaultCode::Cancelled);
    cluster.counted(Metric::BatchRows, &[], 0.0).await;
    cluster.service.stop().await.unwrap();
}

#[tokio::test]
async fn file_that_is_no_model_ends_the_service_with_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("broken.gguf");
    let mut bytes = std::fs::read(model_path()).unwrap();
    bytes.truncate(1_000_000);
    std::fs::write(&path, bytes).unwrap();
    let cluster = Cluster::start(|config| config.inference.model.path = path).await;
    let ended = tokio::time::timeout(Duration::from_secs(300), cluster.service.join())
        .await
        .unwrap();
    let message = format!("{:#}", ended.unwrap_err());
    assert!(
        message.contains("broken.gguf") && message.contains("can't be loaded"),
        "{message}"
    );
}

#[tokio::test]
async fn port_in_use_ends_the_service_with_its_name() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let listen = address.clone();
    let cluster = Cluster::start(|config| config.inference.http.listen = listen).await;
    let ended = tokio::time::timeout(Duration::from_secs(300), cluster.service.join())
        .await
        .unwrap();
    let message = format!("{:#}", ended.unwrap_err());
    assert!(
        message.contains("inference.http.listen") && message.contains(&address),
        "{message}"
    );
}
