//! LoRA weights in memory: fetched by hash, checked, immutable, the last few kept.
//!
//! A request holds its adapter for as long as it runs, so that a new policy version never changes a sample under way
//! and an old one goes when its last sample ends.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::future::BoxFuture;
use journeyman_lm::{
    LanguageModel,
    lora::{Adapter, AdapterError},
};
use journeyman_schemas::{
    event::AdapterPublished,
    fault::{Fault, FaultCode},
    ids::ContentHash,
};

/// An adapter on the device, and its name.
pub struct LoadedAdapter {
    /// SHA-256 of its file.
    pub hash: ContentHash,
    /// The weights.
    pub adapter: Adapter,
}

impl fmt::Debug for LoadedAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedAdapter")
            .field("hash", &self.hash.short())
            .finish_non_exhaustive()
    }
}

/// Where adapter files come from.
pub trait AdapterSource: Send + Sync {
    /// The file named `hash`. `not_found` when there is none, `unavailable` when the source is down.
    fn fetch<'a>(&'a self, hash: &'a ContentHash) -> BoxFuture<'a, Result<Vec<u8>, Fault>>;
}

/// The adapters in memory.
pub struct Adapters {
    lm: Arc<LanguageModel>,
    source: Arc<dyn AdapterSource>,
    kept: usize,
    state: Mutex<State>,
    /// One load at a time, so that a group of requests for a new adapter loads it once.
    loading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    /// Oldest use first.
    loaded: Vec<Arc<LoadedAdapter>>,
    /// `<run>@<version>` and `<run>` (its newest version).
    names: BTreeMap<String, ContentHash>,
}

impl Adapters {
    /// Keeps the `kept` adapters used last.
    pub fn new(lm: Arc<LanguageModel>, source: Arc<dyn AdapterSource>, kept: usize) -> Self {
        Self {
            lm,
            source,
            kept,
            state: Mutex::default(),
            loading: tokio::sync::Mutex::default(),
        }
    }

    /// The adapter `hash`, fetched if it is not in memory.
    ///
    /// # Errors
    /// `not_found` when the source has none, `invalid` when the file is corrupt, of another base model or shape.
    pub async fn get(&self, hash: &ContentHash) -> Result<Arc<LoadedAdapter>, Fault> {
        if let Some(loaded) = self.touch(hash) {
            return Ok(loaded);
        }
        let _one_at_a_time = self.loading.lock().await;
        if let Some(loaded) = self.touch(hash) {
            return Ok(loaded);
        }
        let bytes = self.source.fetch(hash).await?;
        let (lm, hash) = (self.lm.clone(), hash.clone());
        let read = tokio::task::spawn_blocking(move || read(&lm, hash, &bytes)).await;
        let loaded = read.unwrap_or_else(|error| {
            Err(Fault::new(
                FaultCode::Internal,
                format!("the adapter could not be read: {error}"),
            ))
        })?;
        tracing::info!(
            adapter = loaded.hash.as_str(),
            "adapter `{}` is loaded",
            loaded.hash.short()
        );
        let mut state = self.lock();
        state.loaded.push(loaded.clone());
        let surplus = state.loaded.len().saturating_sub(self.kept);
        state.loaded.drain(..surplus);
        Ok(loaded)
    }

    /// Loads a new policy version and remembers its name.
    pub async fn publish(&self, event: &AdapterPublished) -> Result<Arc<LoadedAdapter>, Fault> {
        if event.base_sha256 != self.lm.sha256 {
            let message = format!(
                "adapter `{}` is for a base model with SHA-256 `{}`, this one is `{}`",
                event.hash, event.base_sha256, self.lm.sha256
            );
            return Err(Fault::new(FaultCode::Invalid, message));
        }
        let loaded = self.get(&event.hash).await?;
        let rank = loaded.adapter.config().rank;
        if rank != event.rank as usize {
            let message = format!(
                "adapter `{}` has rank `{rank}`, it was announced with `{}`",
                event.hash, event.rank
            );
            return Err(Fault::new(FaultCode::Invalid, message));
        }
        let mut state = self.lock();
        state
            .names
            .insert(format!("{}@{}", event.run, event.version), event.hash.clone());
        state.names.insert(event.run.to_string(), event.hash.clone());
        Ok(loaded)
    }

    /// The hash of `<run>@<version>` or `<run>`, when it was published since the start.
    pub fn named(&self, name: &str) -> Option<ContentHash> {
        self.lock().names.get(name).cloned()
    }

    /// Names known, with their hashes.
    pub fn names(&self) -> Vec<(String, ContentHash)> {
        self.lock()
            .names
            .iter()
            .map(|(name, hash)| (name.clone(), hash.clone()))
            .collect()
    }

    /// Hashes in memory, oldest use first.
    pub fn loaded(&self) -> Vec<ContentHash> {
        self.lock()
            .loaded
            .iter()
            .map(|loaded| loaded.hash.clone())
            .collect()
    }

    fn touch(&self, hash: &ContentHash) -> Option<Arc<LoadedAdapter>> {
        let mut state = self.lock();
        let place = state.loaded.iter().position(|loaded| loaded.hash == *hash)?;
        let loaded = state.loaded.remove(place);
        state.loaded.push(loaded.clone());
        Some(loaded)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is one push, insert or drain: a panic elsewhere leaves the state whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(lm: &LanguageModel, hash: ContentHash, bytes: &[u8]) -> Result<Arc<LoadedAdapter>, Fault> {
    let found = ContentHash::of(bytes);
    if found != hash {
        let message = format!(
            "adapter `{hash}` is corrupt: its `{}` bytes have SHA-256 `{found}`",
            bytes.len()
        );
        return Err(Fault::new(FaultCode::Invalid, message));
    }
    let invalid = |error: AdapterError| {
        Fault::new(
            FaultCode::Invalid,
            format!("adapter `{hash}` can't be used: {error}"),
        )
    };
    let adapter = Adapter::from_safetensors(bytes, &lm.model, &lm.sha256).map_err(invalid)?;
    Ok(Arc::new(LoadedAdapter { hash, adapter }))
}
