use std::collections::BTreeMap;

use crate::cache::Sequence;
use crate::config::{Architecture, ModelConfig};
use crate::device::Device;
use crate::lora::Adapter;
use crate::testing::plain::{Plain, PlainAdapter};
use crate::testing::{random_adapter, random_tensors, tiny_config, tiny_model};
use crate::weights::{NamedTensors, WeightsError};

use super::{Logits, Model, ModelError, Row, Wanted};

mod golden;

const TOKENS: [u32; 9] = [3, 41, 7, 7, 19, 0, 52, 8, 30];

fn run(model: &Model, tokens: &[u32], adapter: Option<&Adapter>, logits: Wanted) -> Logits {
    let mut sequence = model.sequence();
    let row = Row {
        sequence: &mut sequence,
        tokens,
        adapter,
        logits,
    };
    model.forward(&mut [row]).unwrap().remove(0)
}

#[track_caller]
fn assert_close(actual: &[f32], expected: &[f32]) {
    assert_eq!(actual.len(), expected.len());
    for (index, (actual, expected)) in actual.iter().zip(expected).enumerate() {
        assert!(
            (actual - expected).abs() < 2e-5,
            "element {index}: {actual} is not {expected}"
        );
    }
}

#[test]
fn logits_of_both_architectures_equal_a_plain_model() {
    for architecture in [Architecture::Qwen2, Architecture::Llama] {
        let config = tiny_config(architecture);
        let tensors = random_tensors(&config, 1);
        let expected = Plain {
            config: &config,
            tensors: &tensors,
            adapter: None,
        }
        .logits(&TOKENS)
        .concat();
        let expected: Vec<f32> = expected.iter().map(|&value| value as f32).collect();
        for device in [Device::cpu(), Device::tensors_on_cpu()] {
            let model = Model::from_tensors(tensors.clone(), config.clone(), &device).unwrap();
            let logits = run(&model, &TOKENS, None, Wanted::All);
            assert_eq!(logits.rows, TOKENS.len());
            assert_close(&logits.data, &expected);
        }
    }
}

#[test]
fn prefill_in_chunks_and_forks_equals_one_pass() {
    for device in [Device::cpu(), Device::tensors_on_cpu()] {
        let model = tiny_model(Architecture::Qwen2, &device);
        let whole = run(&model, &TOKENS, None, Wanted::All).data;
        let vocabulary = model.config().vocab_size;
        for cut in [1, 4, 8] {
            let mut sequence = model.sequence();
            let mut data = Vec::new();
            for tokens in [&TOKENS[..cut], &TOKENS[cut..]] {
                let row = Row {
                    sequence: &mut sequence,
                    tokens,
                    adapter: None,
                    logits: Wanted::All,
                };
                data.extend(model.forward(&mut [row]).unwrap().remove(0).data);
            }
            assert_close(&data, &whole);

            // A fork goes on alone, and so does the original, whichever is first.
            sequence.truncate(cut);
            assert_eq!(sequence.len(), cut);
            let mut fork = sequence.fork();
            let other = [11_u32, 12, 13];
            let last = |sequence: &mut Sequence, tokens: &[u32]| {
                let row = Row {
                    sequence,
                    tokens,
                    adapter: None,
                    logits: Wanted::Last,
                };
                model.forward(&mut [row]).unwrap().remove(0)
            };
            last(&mut fork, &other);
            assert_close(
                &last(&mut sequence, &TOKENS[cut..]).data,
                &whole[whole.len() - vocabulary..],
            );
            last(&mut fork, &[14]);
            assert_eq!((sequence.len(), fork.len()), (TOKENS.len(), cut + 4));
            let forked = [&TOKENS[..cut], &other, &[14]].concat();
            let alone = run(&model, &forked, None, Wanted::All);
            fork.truncate(cut + 3);
            assert_close(
                &last(&mut fork, &[14]).data,
                &alone.data[alone.data.len() - vocabulary..],
            );
        }
    }
}

#[test]
fn row_of_a_batch_equals_row_alone() {
    let model = tiny_model(Architecture::Qwen2, &Device::cpu());
    let (first, second) = (random_adapter(&model, 3, 1), random_adapter(&model, 2, 2));
    let inputs: [(&[u32], Option<&Adapter>, Wanted); 6] = [
        (&TOKENS[..4], Some(&first), Wanted::Last),
        (&TOKENS[2..3], Some(&first), Wanted::All),
        (&TOKENS[3..7], None, Wanted::None),
        (&TOKENS[1..], Some(&second), Wanted::All),
        (&TOKENS[5..6], None, Wanted::Last),
        (&TOKENS[..2], Some(&first), Wanted::All),
    ];
    let mut sequences: Vec<_> = inputs.iter().map(|_| model.sequence()).collect();
    let mut rows: Vec<Row<'_>> = inputs
        .iter()
        .zip(&mut sequences)
        .map(|((tokens, adapter, logits), sequence)| Row {
            sequence,
            tokens,
            adapter: *adapter,
            logits: *logits,
        })
        .collect();
    let batch = model.forward(&mut rows).unwrap();
    for ((tokens, adapter, wanted), row) in inputs.iter().zip(&batch) {
        // To the bit: sums are taken in the same order whatever the batch.
        assert_eq!(&run(&model, tokens, *adapter, *wanted), row);
    }
}

#[test]
fn adapter_equals_plain_model_with_scaled_product() {
    let config = tiny_config(Architecture::Qwen2);
    let tensors = random_tensors(&config, 1);
    for device in [Device::cpu(), Device::tensors_on_cpu()] {
        let model = Model::from_tensors(tensors.clone(), config.clone(), &device).unwrap();
        let adapter = random_adapter(&model, 4, 9);
        let parameters = adapter
            .parameters()
            .iter()
            .map(|&value| f64::from(value))
            .collect();
        // alpha / rank = 6 / 4
        let plain = PlainAdapter {
            parameters,
            rank: 4,
            scale: 1.5,
        };
        let plain = Plain {
            config: &config,
            tensors: &tensors,
            adapter: Some(plain),
        };
        let expected: Vec<f32> = plain
            .logits(&TOKENS)
            .concat()
            .iter()
            .map(|&value| value as f32)
            .collect();
        let actual = run(&model, &TOKENS, Some(&adapter), Wanted::All).data;
        for (actual, expected) in actual.iter().zip(&expected) {
            assert!(
                (actual - expected).abs() < 1e-4 * expected.abs().max(1.0),
                "{actual} is not {expected}"
            );
        }
        let base = run(&model, &TOKENS, None, Wanted::All).data;
        assert!(
            base.iter()
                .zip(&actual)
                .any(|(base, actual)| (base - actual).abs() > 0.1)
        );
    }
}

#[test]
fn bad_row_is_refused_and_leaves_caches_alone() {
    let model = tiny_model(Architecture::Llama, &Device::cpu());
    let check = |tokens: &[u32]| {
        let (mut good, mut bad) = (model.sequence(), model.sequence());
        let mut rows = [
            Row {
                sequence: &mut good,
                tokens: &[1, 2],
                adapter: None,
                logits: Wanted::Last,
            },
            Row {
                sequence: &mut bad,
                tokens,
                adapter: None,
                logits: Wanted::Last,
            },
        ];
        let error = model.forward(&mut rows).unwrap_err();
        assert!(good.is_empty() && bad.is_empty());
        error
    };
    assert!(matches!(check(&[]), ModelError::NoTokens { row: 1 }));
    assert!(matches!(
        check(&[1, 53]),
        ModelError::UnknownToken {
            row: 1,
            token: 53,
            vocabulary: 53
        }
    ));
    assert!(matches!(
        check(&[1; 513]),
        ModelError::ContextOverflow {
            row: 1,
            positions: 513,
            context: 512
        }
    ));
    let full = run(&model, &[1; 512], None, Wanted::Last);
    assert_eq!(full.rows, 1);
}

#[test]
fn adapter_of_another_shape_is_refused() {
    let model = tiny_model(Architecture::Llama, &Device::cpu());
    let config = ModelConfig {
        layers: 2,
        ..tiny_config(Architecture::Llama)
    };
    let other = Model::from_tensors(random_tensors(&config, 1), config, &Device::cpu()).unwrap();
    let adapter = random_adapter(&other, 2, 1);
    let mut sequence = model.sequence();
    let row = Row {
        sequence: &mut sequence,
        tokens: &[1],
        adapter: Some(&adapter),
        logits: Wanted::Last,
    };
    assert!(matches!(
        model.forward(&mut [row]),
        Err(ModelError::AdapterShape { row: 0 })
    ));
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    let config = tiny_config(Architecture::Qwen2);
    let load = |change: fn(&mut NamedTensors)| {
        let mut tensors = random_tensors(&config, 1);
        change(&mut tensors);
        Model::from_tensors(tensors, config.clone(), &Device::cpu()).map(|_| ())
    };
    load(|_| ()).unwrap();
    let missing = load(|tensors| tensors.remove("blk.1.attn_k.bias")).unwrap_err();
    assert!(matches!(missing, WeightsError::Missing(name) if name == "blk.1.attn_k.bias"));
    let unused = load(|tensors| tensors.insert("blk.0.attn_q_norm.weight", 8, vec![1.0; 8])).unwrap_err();
    assert!(
        unused.to_string().contains("`blk.0.attn_q_norm.weight`"),
        "{unused}"
    );
    let shape = load(|tensors| tensors.insert("blk.2.ffn_up.weight", 24, vec![0.0; 24 * 36])).unwrap_err();
    assert_eq!(
        shape.to_string(),
        "tensor `blk.2.ffn_up.weight` has 36 rows of 24 values, expected 37 rows of 24"
    );
    // A llama model has no biases, so those of a qwen2 file would be dropped.
    let tensors = random_tensors(&config, 1);
    let llama = tiny_config(Architecture::Llama);
    assert!(matches!(
        Model::from_tensors(tensors, llama, &Device::cpu()),
        Err(WeightsError::Unused(_))
    ));
}

#[test]
fn separate_head_is_used_instead_of_the_embedding() {
    let config = tiny_config(Architecture::Llama);
    let mut tensors = random_tensors(&config, 1);
    let doubled = tensors
        .get("token_embd.weight")
        .unwrap()
        .iter()
        .map(|value| 2.0 * value)
        .collect();
    let tied = Model::from_tensors(tensors.clone(), config.clone(), &Device::cpu()).unwrap();
    tensors.insert("output.weight", config.hidden_size, doubled);
    let own = Model::from_tensors(tensors, config, &Device::cpu()).unwrap();
    let (tied, own) = (
        run(&tied, &TOKENS, None, Wanted::All),
        run(&own, &TOKENS, None, Wanted::All),
    );
    let tied: Vec<f32> = tied.data.iter().map(|value| 2.0 * value).collect();
    assert_close(&own.data, &tied);
}

#[test]
fn device_names_are_parsed() {
    assert_eq!("cpu".parse::<Device>().unwrap(), Device::cpu());
    let errors: BTreeMap<&str, &str> = BTreeMap::from([
        (
            "gpu",
            "device `gpu` is not known; allowed are `cpu` and `cuda:N` with a number N",
        ),
        (
            "cuda:x",
            "device `cuda:x` is not known; allowed are `cpu` and `cuda:N` with a number N",
        ),
    ]);
    for (name, message) in errors {
        assert_eq!(name.parse::<Device>().unwrap_err().to_string(), message);
    }
}
