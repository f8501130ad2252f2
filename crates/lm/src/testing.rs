//! Tiny random models and adapters for tests.

pub(crate) mod plain;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::config::{Architecture, ModelConfig};
use crate::device::Device;
use crate::lora::{Adapter, LoraConfig};
use crate::model::Model;
use crate::weights::NamedTensors;

/// Three blocks with grouped heads and odd sizes.
pub(crate) fn tiny_config(architecture: Architecture) -> ModelConfig {
    ModelConfig {
        architecture,
        hidden_size: 24,
        intermediate_size: 37,
        layers: 3,
        heads: 6,
        kv_heads: 2,
        head_dim: 8,
        vocab_size: 53,
        context_length: 512,
        rms_norm_eps: 1e-6,
        rope_theta: 10_000.0,
    }
}

/// Random tensors for a configuration, with the names and layout of a GGUF file.
pub(crate) fn random_tensors(config: &ModelConfig, seed: u64) -> NamedTensors {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut tensors = NamedTensors::default();
    let mut add = |name: String, rows: usize, columns: usize, middle: f32| {
        let bound = (3.0 / columns as f32).sqrt();
        let bound = if rows == 1 { 0.3 } else { bound };
        let values = (0..rows * columns)
            .map(|_| middle + random.random_range(-bound..bound))
            .collect();
        tensors.insert(name, columns, values);
    };
    let (hidden, inner) = (config.hidden_size, config.intermediate_size);
    let (queries, keys) = (config.heads * config.head_dim, config.kv_heads * config.head_dim);
    add("token_embd.weight".into(), config.vocab_size, hidden, 0.0);
    add("output_norm.weight".into(), 1, hidden, 1.0);
    for layer in 0..config.layers {
        let name = |tensor: &str| format!("blk.{layer}.{tensor}");
        add(name("attn_norm.weight"), 1, hidden, 1.0);
        add(name("ffn_norm.weight"), 1, hidden, 1.0);
        add(name("attn_q.weight"), queries, hidden, 0.0);
        add(name("attn_k.weight"), keys, hidden, 0.0);
        add(name("attn_v.weight"), keys, hidden, 0.0);
        if config.architecture == Architecture::Qwen2 {
            add(name("attn_q.bias"), 1, queries, 0.0);
            add(name("attn_k.bias"), 1, keys, 0.0);
            add(name("attn_v.bias"), 1, keys, 0.0);
        }
        add(name("attn_output.weight"), hidden, queries, 0.0);
        add(name("ffn_gate.weight"), inner, hidden, 0.0);
        add(name("ffn_up.weight"), inner, hidden, 0.0);
        add(name("ffn_down.weight"), hidden, inner, 0.0);
    }
    tensors
}

/// A tiny model with random weights.
pub(crate) fn tiny_model(architecture: Architecture, device: &Device) -> Model {
    let config = tiny_config(architecture);
    Model::from_tensors(random_tensors(&config, 1), config, device).unwrap()
}

/// An adapter whose factors are all random.
pub(crate) fn random_adapter(model: &Model, rank: usize, seed: u64) -> Adapter {
    let adapter = Adapter::init(
        model,
        "base",
        LoraConfig {
            rank,
            alpha: 1.5 * rank as f64,
        },
        seed,
    );
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let parameters: Vec<f32> = adapter
        .parameters()
        .iter()
        .map(|_| random.random_range(-0.3..0.3))
        .collect();
    adapter.with_parameters(&parameters).unwrap()
}
