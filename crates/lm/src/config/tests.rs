//! Configurations of the two model files, and of files that do not fit.

use super::*;
use crate::fixtures::{self, GgufWriter};

#[test]
fn qwen_file_has_the_published_shape() {
    let config = ModelConfig::from_gguf(&fixtures::open_model(fixtures::QWEN)).expect("a model");
    assert_eq!(
        config,
        ModelConfig {
            architecture: Architecture::Qwen2,
            hidden_size: 896,
            intermediate_size: 4864,
            layers: 24,
            heads: 14,
            kv_heads: 2,
            head_dim: 64,
            vocab_size: 151_936,
            context_length: 32_768,
            rms_norm_eps: f64::from(1e-6f32),
            rope_theta: 1e6,
        }
    );
}

#[test]
fn smollm_file_has_the_published_shape() {
    let config = ModelConfig::from_gguf(&fixtures::open_model(fixtures::SMOLLM)).expect("a model");
    assert_eq!(
        config,
        ModelConfig {
            architecture: Architecture::Llama,
            hidden_size: 576,
            intermediate_size: 1536,
            layers: 30,
            heads: 9,
            kv_heads: 3,
            head_dim: 64,
            vocab_size: 49_152,
            context_length: 8192,
            rms_norm_eps: f64::from(1e-5f32),
            rope_theta: 1e5,
        }
    );
}

fn tiny() -> GgufWriter {
    GgufWriter::default()
        .string("general.architecture", "llama")
        .u32("llama.block_count", 1)
        .u32("llama.context_length", 64)
        .u32("llama.embedding_length", 8)
        .u32("llama.feed_forward_length", 16)
        .u32("llama.attention.head_count", 2)
        .u32("llama.attention.head_count_kv", 1)
        .f32("llama.attention.layer_norm_rms_epsilon", 1e-5)
        .f32("llama.rope.freq_base", 1e4)
        .tensor("token_embd.weight", &[8, 3], 0, vec![0; 96])
}

#[test]
fn configuration_that_does_not_fit_is_refused_by_key() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let outcome = |file: GgufWriter| {
        let gguf = file.open_in(directory.path()).expect("a valid file");
        ModelConfig::from_gguf(&gguf)
    };
    assert_eq!(outcome(tiny()).expect("a model").vocab_size, 3);

    let cases = [
        (tiny().string("general.architecture", "mamba"), "`mamba`"),
        (tiny().without("llama.block_count"), "`llama.block_count`"),
        (tiny().u32("llama.block_count", 0), "`llama.block_count`"),
        (
            tiny().u32("llama.embedding_length", 16),
            "`llama.embedding_length`",
        ),
        (
            tiny()
                .u32("llama.attention.head_count", 3)
                .u32("llama.attention.head_count_kv", 2),
            "head_count_kv`",
        ),
        (
            tiny().u32("llama.attention.key_length", 3),
            "`llama.attention.key_length`",
        ),
        (
            tiny()
                .u32("llama.attention.head_count", 100)
                .u32("llama.attention.head_count_kv", 1),
            "`0`",
        ),
        (
            tiny().u32("llama.rope.dimension_count", 2),
            "`llama.rope.dimension_count`",
        ),
        (tiny().f32("llama.rope.freq_base", f32::NAN), "`NaN`"),
        (
            tiny().f32("llama.attention.layer_norm_rms_epsilon", 0.0),
            "rms_epsilon`",
        ),
        (tiny().string("llama.rope.scaling.type", "yarn"), "`yarn`"),
    ];
    for (file, part) in cases {
        let message = outcome(file).expect_err("a bad configuration").to_string();
        assert!(
            message.contains(part) && message.contains("model.gguf"),
            "{part}: {message}"
        );
    }
}
