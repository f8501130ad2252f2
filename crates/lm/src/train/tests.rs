use crate::LanguageModel;
use crate::config::Architecture;
use crate::device::Device;
use crate::fixtures::SMOLLM;
use crate::lora::{Adapter, LoraConfig};
use crate::model::{Model, ModelError};
use crate::testing::plain::{Plain, PlainAdapter};
use crate::testing::{random_adapter, random_tensors, tiny_config, tiny_model};

use super::{Scorer, TrainError, TrainGroup, logprobs, logprobs_and_gradient};

const PROMPT: [u32; 5] = [3, 41, 7, 7, 19];
const COMPLETIONS: [&[u32]; 4] = [&[5, 9, 2, 30], &[11], &[8, 8, 1], &[40, 6, 52, 3, 0, 17]];
const RANK: usize = 3;

fn group(max_tokens: usize) -> TrainGroup<'static> {
    TrainGroup {
        prompt: &PROMPT,
        completions: COMPLETIONS.to_vec(),
        max_tokens,
    }
}

/// All ids but two, neither of which is in the completions.
fn sampleable() -> Vec<bool> {
    (0..53).map(|id| id != 4 && id != 20).collect()
}

/// Weights of a loss `Σ w · logp`, different for each token.
fn weights() -> Vec<Vec<f32>> {
    let weight = |completion: usize, token: usize| ((completion * 7 + token * 3) % 5) as f32 * 0.4 - 0.7;
    COMPLETIONS
        .iter()
        .enumerate()
        .map(|(completion, tokens)| (0..tokens.len()).map(|token| weight(completion, token)).collect())
        .collect()
}

fn plain_scores(plain: &Plain<'_>) -> Vec<Vec<(f64, f64)>> {
    COMPLETIONS
        .iter()
        .map(|completion| {
            let tokens = [&PROMPT, *completion].concat();
            let targets = &tokens[1..];
            let scores = plain.scores(&tokens[..tokens.len() - 1], targets, &sampleable());
            scores[PROMPT.len() - 1..].to_vec()
        })
        .collect()
}

fn plain_loss(plain: &Plain<'_>) -> f64 {
    let scores = plain_scores(plain);
    let pairs = scores
        .iter()
        .flatten()
        .zip(weights().into_iter().flatten().collect::<Vec<_>>());
    pairs
        .map(|((logprob, _), weight)| logprob * f64::from(weight))
        .sum()
}

#[test]
fn gradient_of_every_factor_equals_finite_differences_of_a_plain_model() {
    let config = tiny_config(Architecture::Qwen2);
    let tensors = random_tensors(&config, 1);
    for device in [Device::cpu(), Device::tensors_on_cpu()] {
        let model = Model::from_tensors(tensors.clone(), config.clone(), &device).unwrap();
        let adapter = random_adapter(&model, RANK, 2);
        let mask = sampleable();
        let scorer = Scorer::new(&model, &mask, Some(&adapter)).unwrap();
        let pass = scorer
            .logprobs_and_gradient(&adapter, &group(100), |_| weights())
            .unwrap();

        let parameters: Vec<f64> = adapter
            .parameters()
            .iter()
            .map(|&value| f64::from(value))
            .collect();
        let plain = |parameters: Vec<f64>| Plain {
            config: &config,
            tensors: &tensors,
            adapter: Some(PlainAdapter {
                parameters,
                rank: RANK,
                scale: 1.5,
            }),
        };
        let expected = plain_scores(&plain(parameters.clone()));
        for (own, expected) in pass.logprobs.iter().flatten().zip(expected.iter().flatten()) {
            assert!(
                (f64::from(*own) - expected.0).abs() < 1e-5,
                "log-probability {own} is not {}",
                expected.0
            );
        }
        let entropies: Vec<f64> = expected.iter().flatten().map(|(_, entropy)| *entropy).collect();
        let entropy = entropies.iter().sum::<f64>() / entropies.len() as f64;
        assert!((f64::from(pass.entropy_mean) - entropy).abs() < 1e-5);

        // Three parameters of each of the two factors of each map and block.
        let shape = adapter.shape();
        let mut largest = 0.0_f64;
        for layer in 0..config.layers {
            for map in 0..7 {
                for range in [shape.down(layer, map), shape.up(layer, map)] {
                    for index in [range.start, range.start + range.len() / 2 + 1, range.end - 1] {
                        let step = 1e-5;
                        let moved = |by: f64| {
                            let mut parameters = parameters.clone();
                            parameters[index] += by;
                            plain_loss(&plain(parameters))
                        };
                        let expected = (moved(step) - moved(-step)) / (2.0 * step);
                        let actual = f64::from(pass.gradient[index]);
                        largest = largest.max(actual.abs());
                        assert!(
                            (actual - expected).abs() < 2e-4 * expected.abs() + 2e-6,
                            "{device}: block {layer}, map {map}, parameter {index}: {actual} is not {expected}"
                        );
                    }
                }
            }
        }
        assert!(
            largest > 0.1,
            "the gradients are too small to tell anything: {largest}"
        );
    }
}

#[test]
fn group_cut_into_micro_batches_gives_the_same_gradient() {
    let model = tiny_model(Architecture::Llama, &Device::cpu());
    let adapter = random_adapter(&model, RANK, 5);
    let mask = sampleable();
    let scorer = Scorer::new(&model, &mask, Some(&adapter)).unwrap();
    let whole = scorer
        .logprobs_and_gradient(&adapter, &group(100), |_| weights())
        .unwrap();
    // 5 prompt tokens: completions of 3 and 0 more tokens fit, then 2, then 5.
    let cut = scorer
        .logprobs_and_gradient(&adapter, &group(10), |_| weights())
        .unwrap();
    assert_eq!(scorer.parts(&group(10)).unwrap(), [0..3, 3..4]);
    assert_eq!(whole.logprobs.concat().len(), cut.logprobs.concat().len());
    for (whole, cut) in whole.logprobs.concat().iter().zip(cut.logprobs.concat()) {
        assert!((whole - cut).abs() < 1e-6);
    }
    for (whole, cut) in whole.gradient.iter().zip(&cut.gradient) {
        assert!(
            (whole - cut).abs() < 1e-5 * whole.abs() + 1e-5,
            "{whole} is not {cut}"
        );
    }
    assert!((whole.entropy_mean - cut.entropy_mean).abs() < 1e-5);
}

/// Large enough that buffers are used again from layer to layer and from pass to pass.
#[test]
fn gradient_of_a_real_model_repeats_to_the_bit_and_predicts_the_change_of_the_loss() {
    let lm = LanguageModel::load(&journeyman_testkit::model(SMOLLM), &Device::cpu()).unwrap();
    let config = LoraConfig { rank: 8, alpha: 16.0 };
    let fresh = Adapter::init(&lm.model, &lm.sha256, config, 3);
    // B must not be zero, or A has no gradient.
    let parameters: Vec<f32> = fresh
        .parameters()
        .iter()
        .enumerate()
        .map(|(i, v)| v + (i % 7) as f32 * 1e-3)
        .collect();
    let adapter = fresh.with_parameters(&parameters).unwrap();
    let tokens: Vec<u32> = (0..400).map(|index| 100 + index * 37 % 9000).collect();
    let group = TrainGroup {
        prompt: &tokens[..180],
        completions: vec![&tokens[180..240], &tokens[240..245], &tokens[245..]],
        max_tokens: 600,
    };
    let weights = |logprobs: &[Vec<f32>]| -> Vec<Vec<f32>> {
        let weight = |completion: usize| if completion == 1 { -0.03 } else { 0.01 };
        logprobs
            .iter()
            .enumerate()
            .map(|(index, own)| vec![weight(index); own.len()])
            .collect()
    };
    let first = logprobs_and_gradient(&lm, &adapter, &group, weights).unwrap();
    let second = logprobs_and_gradient(&lm, &adapter, &group, weights).unwrap();
    assert_eq!(first.logprobs, second.logprobs);
    assert!(
        first.gradient == second.gradient,
        "the gradient differs between two passes"
    );

    let loss = |by: f64| {
        let moved: Vec<f32> = parameters
            .iter()
            .zip(&first.gradient)
            .map(|(value, slope)| (f64::from(*value) + by * f64::from(*slope)) as f32)
            .collect();
        let adapter = adapter.with_parameters(&moved).unwrap();
        let logprobs = logprobs(&lm, Some(&adapter), &group).unwrap();
        let products = logprobs
            .iter()
            .zip(weights(&logprobs))
            .flat_map(|(own, weights)| {
                own.iter()
                    .zip(weights)
                    .map(|(logprob, weight)| f64::from(*logprob) * f64::from(weight))
                    .collect::<Vec<_>>()
            });
        products.sum::<f64>()
    };
    let square: f64 = first.gradient.iter().map(|value| f64::from(*value).powi(2)).sum();
    let step = 2e-2 / square;
    let change = (loss(step) - loss(-step)) / (2.0 * step);
    assert!(
        (change / square - 1.0).abs() < 2e-2,
        "the loss changes by {change} per step, not by {square}"
    );
}

#[test]
fn logprobs_without_gradient_equal_those_with() {
    let model = tiny_model(Architecture::Qwen2, &Device::cpu());
    let adapter = random_adapter(&model, RANK, 5);
    let mask = sampleable();
    let scorer = Scorer::new(&model, &mask, Some(&adapter)).unwrap();
    let pass = scorer
        .logprobs_and_gradient(&adapter, &group(100), |_| weights())
        .unwrap();
    assert_eq!(scorer.logprobs(&group(100)).unwrap().0, pass.logprobs);
}

#[test]
fn zero_derivatives_give_a_zero_gradient() {
    let model = tiny_model(Architecture::Qwen2, &Device::cpu());
    let adapter = random_adapter(&model, RANK, 5);
    let mask = sampleable();
    let scorer = Scorer::new(&model, &mask, Some(&adapter)).unwrap();
    for max_tokens in [100, 10] {
        let zeros = |logprobs: &[Vec<f32>]| logprobs.iter().map(|own| vec![0.0; own.len()]).collect();
        let pass = scorer
            .logprobs_and_gradient(&adapter, &group(max_tokens), zeros)
            .unwrap();
        assert!(pass.gradient.iter().all(|&value| value == 0.0));
    }
}

#[test]
fn group_that_cannot_be_scored_is_refused() {
    let model = tiny_model(Architecture::Qwen2, &Device::cpu());
    let other = random_adapter(
        &tiny_model(Architecture::Qwen2, &Device::tensors_on_cpu()),
        RANK,
        5,
    );
    let adapter = random_adapter(&model, RANK, 5);
    let mask = sampleable();
    assert!(matches!(
        Scorer::new(&model, &mask, Some(&other)),
        Err(TrainError::AdapterShape)
    ));
    let scorer = Scorer::new(&model, &mask, Some(&adapter)).unwrap();
    let check = |prompt: &[u32], completion: &[u32], max_tokens| {
        scorer
            .logprobs(&TrainGroup {
                prompt,
                completions: vec![&[1], completion],
                max_tokens,
            })
            .unwrap_err()
    };
    assert!(matches!(
        check(&[], &[1], 9),
        TrainError::Tokens(ModelError::NoTokens { .. })
    ));
    assert!(matches!(
        check(&[1], &[], 9),
        TrainError::Tokens(ModelError::NoTokens { row: 1 })
    ));
    assert!(matches!(
        check(&[1], &[2, 53], 9),
        TrainError::Tokens(ModelError::UnknownToken { token: 53, .. })
    ));
    assert!(matches!(
        check(&[1], &[2, 4], 9),
        TrainError::Masked {
            completion: 1,
            token: 4
        }
    ));
    assert!(matches!(
        check(&[1, 2], &[2, 2, 2, 2], 4),
        TrainError::TooLong {
            completion: 1,
            tokens: 5,
            ..
        }
    ));
    assert!(matches!(
        check(&[1; 510], &[2; 3], 999),
        TrainError::Tokens(ModelError::ContextOverflow { .. })
    ));
    let wrong = scorer.logprobs_and_gradient(&adapter, &group(99), |_| vec![vec![0.0; 4]; 4]);
    assert!(matches!(
        wrong,
        Err(TrainError::LossShape {
            completion: 1,
            found: 4,
            expected: 1
        })
    ));
}
