//! Adapters: fetched once, checked, swapped without touching what runs.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use futures::future::join_all;
use journeyman_schemas::{
    event::AdapterPublished,
    fault::FaultCode,
    generate::{Generate, Prompt, Sampling},
    ids::{ContentHash, RunId},
};

use super::Adapters;
use crate::{
    config::EngineConfig,
    fixtures::{MemorySource, answerer, ids, lm, model_id, strong_adapter},
};

const TEXT: &str = "The best way to train a model is";

fn event(version: u64, hash: ContentHash) -> AdapterPublished {
    AdapterPublished {
        run: RunId::new("churn").unwrap(),
        version,
        hash,
        model: model_id(),
        base_sha256: lm().sha256.clone(),
        rank: 4,
        alpha: 8.0,
        targets: Vec::new(),
    }
}

fn ask(adapter: Option<&ContentHash>, max_tokens: u32) -> Generate {
    Generate {
        model: model_id(),
        adapter: adapter.cloned(),
        prompt: Prompt::TokenIds(ids(TEXT).to_vec()),
        sampling: Sampling {
            min_tokens: max_tokens,
            ..Sampling::greedy(max_tokens)
        },
        n: 1,
    }
}

#[tokio::test]
async fn new_version_is_used_after_it_and_old_one_goes_on_under_way() {
    let (first, second) = (
        strong_adapter(1).to_safetensors(),
        strong_adapter(2).to_safetensors(),
    );
    let (old, new) = (ContentHash::of(&first), ContentHash::of(&second));
    let config = EngineConfig {
        adapters_kept: 1,
        ..EngineConfig::default()
    };
    let answerer = answerer(&config, Arc::new(MemorySource::with([first, second])));
    let deadline = Instant::now() + Duration::from_secs(600);

    answerer.adapters.publish(&event(1, old.clone())).await.unwrap();
    let alone = answerer.generate(ask(Some(&old), 24), deadline).await.unwrap();
    let mut under_way = Box::pin(answerer.generate(ask(Some(&old), 24), deadline));
    assert!(futures::poll!(&mut under_way).is_pending());
    answerer.adapters.publish(&event(2, new.clone())).await.unwrap();
    assert_eq!(
        answerer.adapters.loaded(),
        std::slice::from_ref(&new),
        "only the newest is kept"
    );
    let (under_way, after, base) = tokio::join!(
        under_way,
        answerer.generate(ask(Some(&new), 24), deadline),
        answerer.generate(ask(None, 24), deadline),
    );
    let (under_way, after, base) = (under_way.unwrap(), after.unwrap(), base.unwrap());
    assert_eq!(
        (&under_way.adapter, &after.adapter, &base.adapter),
        (&Some(old), &Some(new.clone()), &None)
    );
    assert_eq!(under_way.samples[0].token_ids, alone.samples[0].token_ids);
    assert_ne!(under_way.samples[0].token_ids, after.samples[0].token_ids);
    assert_ne!(base.samples[0].token_ids, after.samples[0].token_ids);
    assert_eq!(answerer.adapters.named("churn"), Some(new.clone()));
    assert_eq!(answerer.adapters.named("churn@2"), Some(new));
}

#[tokio::test]
async fn group_that_names_a_new_adapter_fetches_it_once() {
    let file = strong_adapter(1).to_safetensors();
    let hash = ContentHash::of(&file);
    let source = Arc::new(MemorySource::with([file]));
    let adapters = Adapters::new(lm(), source.clone(), 2);
    let found = join_all((0..8).map(|_| adapters.get(&hash))).await;
    assert!(
        found
            .iter()
            .all(|loaded| loaded.as_ref().is_ok_and(|loaded| loaded.hash == hash))
    );
    assert_eq!(source.fetched.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn adapters_that_can_not_be_right_are_refused_by_name() {
    let good = strong_adapter(1).to_safetensors();
    let mut corrupt = good.clone();
    corrupt[good.len() / 2] ^= 1;
    let cut = good[..good.len() - 100].to_vec();
    let cut_hash = ContentHash::of(&cut);
    let other = journeyman_lm::lora::Adapter::init(
        &lm().model,
        &"0".repeat(64),
        journeyman_lm::lora::LoraConfig { rank: 4, alpha: 8.0 },
        1,
    );
    let other = other.to_safetensors();
    let other_hash = ContentHash::of(&other);
    let mut source = MemorySource::with([cut, other]);
    source.files.insert(ContentHash::of(&good), corrupt);
    let adapters = Adapters::new(lm(), Arc::new(source), 2);

    let refused = async |hash: &ContentHash| adapters.get(hash).await.unwrap_err();
    let fault = refused(&ContentHash::of(&good)).await;
    assert!(
        fault.code == FaultCode::Invalid && fault.message.contains("is corrupt"),
        "{fault}"
    );
    let fault = refused(&cut_hash).await;
    assert!(
        fault.code == FaultCode::Invalid && fault.message.contains("truncated"),
        "{fault}"
    );
    let fault = refused(&other_hash).await;
    assert!(
        fault.code == FaultCode::Invalid && fault.message.contains("base"),
        "{fault}"
    );
    assert_eq!(
        refused(&ContentHash::of(b"nobody")).await.code,
        FaultCode::NotFound
    );
    assert!(adapters.loaded().is_empty());
}

#[tokio::test]
async fn event_for_another_base_or_rank_is_refused() {
    let file = strong_adapter(1).to_safetensors();
    let hash = ContentHash::of(&file);
    let adapters = Adapters::new(lm(), Arc::new(MemorySource::with([file])), 2);
    let other_base = AdapterPublished {
        base_sha256: "0".repeat(64),
        ..event(1, hash.clone())
    };
    let fault = adapters.publish(&other_base).await.unwrap_err();
    assert!(
        fault.code == FaultCode::Invalid && fault.message.contains("base model"),
        "{fault}"
    );
    let other_rank = AdapterPublished {
        rank: 32,
        ..event(1, hash)
    };
    let fault = adapters.publish(&other_rank).await.unwrap_err();
    assert!(
        fault.code == FaultCode::Invalid && fault.message.contains("rank `4`"),
        "{fault}"
    );
    assert!(adapters.names().is_empty());
}
