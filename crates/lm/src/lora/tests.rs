use crate::config::{Architecture, ModelConfig};
use crate::device::Device;
use crate::model::Model;
use crate::testing::{random_adapter, random_tensors, tiny_config, tiny_model};

use super::{Adapter, AdapterError, LoraConfig};

#[test]
fn fresh_adapter_is_seeded_bounded_and_changes_nothing() {
    let model = tiny_model(Architecture::Qwen2, &Device::cpu());
    let config = LoraConfig { rank: 4, alpha: 8.0 };
    let adapter = Adapter::init(&model, "base", config, 7);
    let parameters = adapter.parameters();
    assert_eq!(parameters, Adapter::init(&model, "base", config, 7).parameters());
    assert_ne!(parameters, Adapter::init(&model, "base", config, 8).parameters());
    for layer in 0..3 {
        for (map, inner) in [24_f32, 24.0, 24.0, 48.0, 24.0, 24.0, 37.0]
            .into_iter()
            .enumerate()
        {
            let down = &parameters[adapter.shape().down(layer, map)];
            let largest = down
                .iter()
                .fold(0.0_f32, |largest, value| largest.max(value.abs()));
            assert!(largest <= 1.0 / inner.sqrt() && largest > 0.7 / inner.sqrt());
            assert!(
                parameters[adapter.shape().up(layer, map)]
                    .iter()
                    .all(|&value| value == 0.0)
            );
        }
    }
    assert_eq!(adapter.shape().up(2, 6).end, parameters.len());
}

#[test]
fn file_form_read_back_is_equal_and_keeps_the_hash() {
    let model = tiny_model(Architecture::Qwen2, &Device::cpu());
    let adapter = random_adapter(&model, 4, 3);
    let bytes = adapter.to_safetensors();
    let read = Adapter::from_safetensors(&bytes, &model, "base").unwrap();
    assert_eq!(read.parameters(), adapter.parameters());
    assert_eq!(read.config(), LoraConfig { rank: 4, alpha: 6.0 });
    assert_eq!(read.hash(), adapter.hash());
    assert_eq!(adapter.hash().len(), 64);
    assert_eq!(read.to_safetensors(), bytes);
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let shape = |name: &str| file.tensor(name).unwrap().shape().to_vec();
    assert_eq!(
        shape("base_model.model.model.layers.2.mlp.down_proj.lora_A.weight"),
        [4, 37]
    );
    assert_eq!(
        shape("base_model.model.model.layers.0.self_attn.k_proj.lora_B.weight"),
        [16, 4]
    );
    assert_eq!(file.len(), 3 * 7 * 2);
}

#[test]
fn adapter_with_other_parameters_has_another_hash() {
    let model = tiny_model(Architecture::Qwen2, &Device::cpu());
    let adapter = random_adapter(&model, 4, 3);
    let mut parameters = adapter.parameters();
    parameters[5] += 1.0;
    let other = adapter.with_parameters(&parameters).unwrap();
    assert_ne!(other.hash(), adapter.hash());
    assert_eq!(other.base_sha256(), "base");
    let error = adapter.with_parameters(&parameters[1..]).err().unwrap();
    assert!(matches!(error, AdapterError::ParameterCount { found, expected } if found + 1 == expected));
}

#[test]
fn damaged_or_foreign_file_is_refused() {
    let model = tiny_model(Architecture::Qwen2, &Device::cpu());
    let bytes = random_adapter(&model, 4, 3).to_safetensors();
    let read = |bytes: &[u8]| Adapter::from_safetensors(bytes, &model, "base").err().unwrap();
    for len in [0, 7, 100, bytes.len() - 1] {
        assert!(
            matches!(read(&bytes[..len]), AdapterError::Format(_)),
            "{len} bytes"
        );
    }
    let foreign = Adapter::from_safetensors(&bytes, &model, "other").err().unwrap();
    assert_eq!(
        foreign.to_string(),
        "adapter was trained on the base with SHA-256 `base`, this model has `other`"
    );
    let config = ModelConfig {
        intermediate_size: 40,
        ..tiny_config(Architecture::Qwen2)
    };
    let wider = Model::from_tensors(random_tensors(&config, 1), config, &Device::cpu()).unwrap();
    let shape = Adapter::from_safetensors(&bytes, &wider, "base").err().unwrap();
    assert_eq!(
        shape.to_string(),
        "adapter tensor `base_model.model.model.layers.0.mlp.gate_proj.lora_B.weight` is F32 [37, 4], expected F32 [40, 4]"
    );
    let config = ModelConfig {
        layers: 2,
        ..tiny_config(Architecture::Qwen2)
    };
    let shallower = Model::from_tensors(random_tensors(&config, 1), config, &Device::cpu()).unwrap();
    let extra = Adapter::from_safetensors(&bytes, &shallower, "base")
        .err()
        .unwrap();
    assert!(matches!(
        extra,
        AdapterError::ExtraTensors {
            found: 42,
            expected: 28
        }
    ));
    let config = ModelConfig {
        layers: 4,
        ..tiny_config(Architecture::Qwen2)
    };
    let deeper = Model::from_tensors(random_tensors(&config, 1), config, &Device::cpu()).unwrap();
    let missing = Adapter::from_safetensors(&bytes, &deeper, "base").err().unwrap();
    assert!(
        missing
            .to_string()
            .contains("layers.3.self_attn.q_proj.lora_A.weight` is missing"),
        "{missing}"
    );
    let mut other = bytes.clone();
    let at = bytes
        .windows(10)
        .position(|window| window == b"\"rank\":\"4\"")
        .unwrap();
    other[at + 8] = b'x';
    assert!(matches!(read(&other), AdapterError::Metadata { key: "rank", .. }));
}
