//! The real models against values that transformers computed from the same files.

use serde::Deserialize;

use crate::LanguageModel;
use crate::device::Device;
use crate::fixtures::{MODELS, SMOLLM, golden, golden_path};
use crate::lora::{Adapter, LoraConfig};
use crate::model::{Row, Wanted};
use crate::train::{MAX_TOKENS, Scorer, TrainGroup};

use super::run;

#[derive(Deserialize)]
struct GoldenLogits {
    ids: Vec<u32>,
    stride: usize,
    positions: Vec<GoldenPosition>,
}

#[derive(Deserialize)]
struct GoldenPosition {
    position: usize,
    top_ids: Vec<usize>,
    top_values: Vec<f32>,
    strided_values: Vec<f32>,
}

#[derive(Deserialize)]
struct GoldenGreedy {
    prompt: Vec<u32>,
    ids: Vec<u32>,
}

#[derive(Deserialize)]
struct GoldenLogprobs {
    prompt: Vec<u32>,
    continuation: Vec<u32>,
    logprobs_masked: Vec<f32>,
    entropy_masked: Vec<f32>,
}

fn load(file: &str) -> LanguageModel {
    LanguageModel::load(&journeyman_testkit::model(file), &Device::cpu()).unwrap()
}

/// Compares logits with golden ones: within 2e-3 of the largest logit of the position.
fn check_logits(lm: &LanguageModel, file: &GoldenLogits, adapter: Option<&Adapter>) {
    let vocabulary = lm.config.vocab_size;
    let logits = run(&lm.model, &file.ids, adapter, Wanted::All).data;
    let mut largest = 0.0_f32;
    for golden in &file.positions {
        let row = &logits[golden.position * vocabulary..][..vocabulary];
        let scale = golden
            .top_values
            .iter()
            .fold(0.0_f32, |scale, value| scale.max(value.abs()));
        let top = golden.top_ids.iter().copied().zip(&golden.top_values);
        let strided = golden
            .strided_values
            .iter()
            .enumerate()
            .map(|(index, value)| (index * file.stride, value));
        for (id, expected) in top.chain(strided) {
            let error = (row[id] - expected).abs() / scale;
            largest = largest.max(error);
            assert!(
                error < 2e-3,
                "position {}, id {id}: {} is not {expected}",
                golden.position,
                row[id]
            );
        }
    }
    assert!(largest > 0.0);
}

#[test]
fn logits_up_to_position_512_equal_transformers() {
    for (directory, file) in MODELS {
        let golden: GoldenLogits = golden(&format!("{directory}/logits.json"));
        assert_eq!(golden.ids.len(), 512);
        check_logits(&load(file), &golden, None);
    }
}

#[test]
fn greedy_tokens_of_all_prompts_in_one_batch_equal_transformers() {
    for (directory, file) in MODELS {
        let lm = load(file);
        let cases: Vec<GoldenGreedy> = golden(&format!("{directory}/greedy.json"));
        let mut sequences: Vec<_> = cases.iter().map(|_| lm.model.sequence()).collect();
        let mut next: Vec<Vec<u32>> = cases.iter().map(|case| case.prompt.clone()).collect();
        let mut generated = vec![Vec::new(); cases.len()];
        for _ in 0..128 {
            let mut rows: Vec<Row<'_>> = sequences
                .iter_mut()
                .zip(&next)
                .map(|(sequence, tokens)| Row {
                    sequence,
                    tokens,
                    adapter: None,
                    logits: Wanted::Last,
                })
                .collect();
            let logits = lm.model.forward(&mut rows).unwrap();
            for (row, logits) in logits.iter().enumerate() {
                let best = (0..logits.data.len()).max_by(|&a, &b| logits.data[a].total_cmp(&logits.data[b]));
                next[row] = vec![best.unwrap() as u32];
                generated[row].push(best.unwrap() as u32);
            }
        }
        for (case, generated) in cases.iter().zip(&generated) {
            assert_eq!(&case.ids, generated, "{file}");
        }
    }
}

#[test]
fn trainer_logprobs_equal_transformers_and_the_sampler() {
    for (directory, file) in MODELS {
        let lm = load(file);
        let case: GoldenLogprobs = golden(&format!("{directory}/logprobs.json"));
        let scorer = Scorer::new(&lm.model, lm.tokenizer.sampleable(), None).unwrap();
        let group = TrainGroup {
            prompt: &case.prompt,
            completions: vec![&case.continuation, &case.continuation[..1]],
            max_tokens: MAX_TOKENS,
        };
        let (logprobs, _) = scorer.logprobs(&group).unwrap();
        for (actual, expected) in logprobs[0].iter().zip(&case.logprobs_masked) {
            assert!((actual - expected).abs() < 1e-3, "{actual} is not {expected}");
        }
        assert!((logprobs[1][0] - logprobs[0][0]).abs() < 1e-5);
        let alone = TrainGroup {
            completions: vec![&case.continuation],
            ..group
        };
        let (_, entropy) = scorer.logprobs(&alone).unwrap();
        let expected = case.entropy_masked.iter().sum::<f32>() / case.entropy_masked.len() as f32;
        assert!((entropy - expected).abs() < 1e-3, "{entropy} is not {expected}");
        // Token by token through the cache, as a sampler does it.
        let mut sequence = lm.model.sequence();
        let mut tokens = case.prompt.clone();
        for (&token, expected) in case.continuation.iter().zip(&logprobs[0]) {
            let row = Row {
                sequence: &mut sequence,
                tokens: &tokens,
                adapter: None,
                logits: Wanted::Last,
            };
            let logits = lm.model.forward(&mut [row]).unwrap().remove(0).data;
            let kept = || {
                logits
                    .iter()
                    .zip(lm.tokenizer.sampleable())
                    .filter(|(_, keep)| **keep)
            };
            let sum: f64 = kept().map(|(logit, _)| f64::from(*logit).exp()).sum();
            let actual = f64::from(logits[token as usize]) - sum.ln();
            assert!(
                (actual - f64::from(*expected)).abs() < 1e-4,
                "{actual} is not {expected}"
            );
            tokens = vec![token];
        }
    }
}

#[test]
fn adapter_of_peft_gives_the_logits_of_peft() {
    let lm = load(SMOLLM);
    let golden: GoldenLogits = golden("smollm2-135m/adapter_logits.json");
    let bytes = std::fs::read(golden_path("smollm2-135m/adapter_model.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let adapter = Adapter::init(&lm.model, &lm.sha256, LoraConfig { rank: 2, alpha: 4.0 }, 0);
    let mut parameters = Vec::new();
    for (name, dims) in adapter.tensor_names() {
        let tensor = file.tensor(&name).unwrap();
        assert_eq!(tensor.shape(), dims, "{name}");
        let (values, _) = tensor.data().as_chunks::<2>();
        parameters.extend(
            values
                .iter()
                .map(|value| half::f16::from_le_bytes(*value).to_f32()),
        );
    }
    check_logits(&lm, &golden, Some(&adapter.with_parameters(&parameters).unwrap()));
}
