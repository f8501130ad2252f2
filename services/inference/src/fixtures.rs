//! What the tests of this crate share: the small real model, adapters that change it, questions.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures::future::BoxFuture;
use journeyman_lm::{
    LanguageModel,
    device::Device,
    lora::{Adapter, LoraConfig},
    tokenizer::Specials,
};
use journeyman_schemas::{
    fault::{Fault, FaultCode},
    generate::Sampling,
    ids::{ContentHash, ModelId},
};

use crate::{
    adapters::{AdapterSource, Adapters, LoadedAdapter},
    config::EngineConfig,
    engine::{Engine, NoMeter, Question},
    handler::Answerer,
};

pub(crate) fn model_path() -> std::path::PathBuf {
    journeyman_testkit::model("smollm2-135m-instruct-q4_1.gguf")
}

/// SmolLM2-135M, loaded once for all tests.
pub(crate) fn lm() -> Arc<LanguageModel> {
    static LM: OnceLock<Arc<LanguageModel>> = OnceLock::new();
    LM.get_or_init(|| Arc::new(load())).clone()
}

/// A copy of its own.
pub(crate) fn load() -> LanguageModel {
    LanguageModel::load(&model_path(), &Device::cpu()).expect("`make setup` fetches the model")
}

pub(crate) fn ids(text: &str) -> Arc<[u32]> {
    lm().tokenizer.encode(text, Specials::AsText).unwrap().into()
}

/// An adapter whose weights are `init` of `seed` with `change` applied to each.
pub(crate) fn adapter(seed: u64, change: impl Fn(usize, f32) -> f32) -> Adapter {
    let lm = lm();
    let start = Adapter::init(&lm.model, &lm.sha256, LoraConfig { rank: 4, alpha: 8.0 }, seed);
    let mut parameters = start.parameters();
    parameters
        .iter_mut()
        .enumerate()
        .for_each(|(place, value)| *value = change(place, *value));
    start.with_parameters(&parameters).unwrap()
}

/// An adapter that makes other text than the base model.
pub(crate) fn strong_adapter(seed: u64) -> Adapter {
    let noise = |place: usize| {
        ((place as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ seed) >> 40) as f32 / 16_777_216.0
    };
    adapter(seed, |place, value| value + 0.1 * (noise(place) - 0.5))
}

pub(crate) fn loaded(adapter: Adapter) -> Arc<LoadedAdapter> {
    Arc::new(LoadedAdapter {
        hash: ContentHash::new(adapter.hash()).unwrap(),
        adapter,
    })
}

pub(crate) fn engine(config: &EngineConfig) -> Engine {
    Engine::start(lm(), config, Arc::new(NoMeter)).unwrap()
}

pub(crate) fn question(text: &str, sampling: Sampling) -> Question {
    let deadline = Instant::now() + Duration::from_secs(600);
    Question {
        prompt: ids(text),
        adapter: None,
        sampling,
        n: 1,
        deadline,
    }
}

pub(crate) fn model_id() -> ModelId {
    ModelId::new("smollm2").unwrap()
}

pub(crate) fn answerer(config: &EngineConfig, source: Arc<dyn AdapterSource>) -> Arc<Answerer> {
    let adapters = Adapters::new(lm(), source, config.adapters_kept);
    Arc::new(Answerer::new(model_id(), lm(), adapters, engine(config), config))
}

/// Adapter files in memory, counting what is fetched.
#[derive(Default)]
pub(crate) struct MemorySource {
    pub(crate) files: HashMap<ContentHash, Vec<u8>>,
    pub(crate) fetched: AtomicUsize,
}

impl MemorySource {
    pub(crate) fn with(files: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let files = files
            .into_iter()
            .map(|bytes| (ContentHash::of(&bytes), bytes))
            .collect();
        Self {
            files,
            fetched: AtomicUsize::new(0),
        }
    }
}

impl AdapterSource for MemorySource {
    fn fetch<'a>(&'a self, hash: &'a ContentHash) -> BoxFuture<'a, Result<Vec<u8>, Fault>> {
        self.fetched.fetch_add(1, Ordering::Relaxed);
        let found = self.files.get(hash).cloned();
        Box::pin(async move { found.ok_or_else(|| Fault::new(FaultCode::NotFound, "no such file")) })
    }
}

/// Runs `task` beside the test.
#[expect(clippy::disallowed_methods, reason = "tests have no service to spawn in")]
pub(crate) fn beside<T: Send + 'static>(
    task: impl Future<Output = T> + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    tokio::spawn(task)
}
