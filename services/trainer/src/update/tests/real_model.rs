//! Updates of a real model, on what it drew itself.

use journeyman_lm::{
    device::Device,
    lora::LoraConfig,
    model::{Row, Wanted},
    sampling::{Draw, SamplingParams, sample},
    tokenizer::Specials,
};

use super::*;

const SAMPLES: u32 = 4;
const TOKENS: usize = 12;

/// As the inference service does: one row, token by token.
fn draw(model: &LanguageModel, adapter: &Adapter, prompt: &[u32], sample_index: u32) -> EndedRollout {
    let mut sequence = model.model.sequence();
    let mut next = prompt.to_vec();
    let (mut token_ids, mut logprobs) = (Vec::new(), Vec::new());
    for _ in 0..TOKENS {
        let logits = model
            .model
            .forward(&mut [Row {
                sequence: &mut sequence,
                tokens: &next,
                adapter: Some(adapter),
                logits: Wanted::Last,
            }])
            .unwrap();
        let drawn = Draw {
            logits: &logits[0].data,
            sampleable: model.tokenizer.sampleable(),
            end_ids: model.tokenizer.end_ids(),
            prompt,
            generated: &token_ids,
            sample_index,
        };
        let sampled = sample(&drawn, &SamplingParams::default()).unwrap();
        token_ids.push(sampled.id);
        logprobs.push(sampled.logprob);
        next = vec![sampled.id];
    }
    EndedRollout {
        token_ids,
        logprobs,
        ..rollout((sample_index == 0).then_some(0.9), 1.0)
    }
}

/// Sum of the log-probabilities of each rollout.
fn logprobs(model: &LanguageModel, adapter: &Adapter, group: &EndedGroup) -> Vec<f32> {
    let pass = logprobs_and_gradient(model, adapter, &shared(group, 4096), |new| {
        new.iter().map(|logprobs| vec![0.0; logprobs.len()]).collect()
    })
    .unwrap();
    pass.logprobs
        .iter()
        .map(|logprobs| logprobs.iter().sum())
        .collect()
}

/// The second round draws with weights that the first one changed, so the adapter counts on both sides.
#[test]
fn update_agrees_with_the_sampler_and_makes_the_rewarded_likelier() {
    let path = journeyman_testkit::model("smollm2-135m-instruct-q4_1.gguf");
    let model = Arc::new(LanguageModel::load(&path, &Device::cpu()).unwrap());
    let prompt = model
        .tokenizer
        .encode("import pandas as pd\n", Specials::AsText)
        .unwrap();
    let lora = LoraConfig { rank: 8, alpha: 16.0 };
    let mut adapter = Arc::new(Adapter::init(&model.model, &model.sha256, lora, 1));
    let mut optimizer = AdamW::new(adapter.parameters().len());
    for step in 1..=2 {
        let group = EndedGroup {
            prompt: prompt.clone(),
            rollouts: (0..SAMPLES)
                .map(|index| draw(&model, &adapter, &prompt, index))
                .collect(),
            ..group(step, &[])
        };
        let updated = update(Update {
            config: config("[optimizer]\nlearning_rate = 1e-3\n"),
            model: model.clone(),
            adapter: adapter.clone(),
            optimizer,
            step,
            groups: vec![group.clone()],
            stop: Arc::default(),
        })
        .unwrap();
        let measured = &updated.measured;
        assert!(measured.mismatch.max() < 1e-3, "step {step}: {measured:?}");
        assert!(measured.grad_norm > 0.0, "step {step}: {measured:?}");
        assert_ne!(updated.adapter.hash(), adapter.hash());
        let before = logprobs(&model, &adapter, &group);
        let after = logprobs(&model, &updated.adapter, &group);
        let gain: Vec<f32> = after
            .iter()
            .zip(&before)
            .map(|(after, before)| after - before)
            .collect();
        assert!(gain[0] > 0.0, "step {step}: {gain:?}");
        assert!(
            gain[1..].iter().all(|other| *other < gain[0]),
            "step {step}: {gain:?}"
        );
        (adapter, optimizer) = (updated.adapter, updated.optimizer);
    }
}
