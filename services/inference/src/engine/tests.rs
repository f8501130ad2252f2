//! The engine with a real model: batches, forks, stops, slots.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::join_all;
use journeyman_schemas::{
    fault::FaultCode,
    generate::{FinishReason, GeneratedSample, Sampling},
};

use super::{Engine, NoMeter};
use crate::{
    config::EngineConfig,
    fixtures::{adapter, beside, engine, ids, lm, load, loaded, question, strong_adapter},
};

const STORY: &str = "Once upon a time, in a village by the sea, there lived";
const CODE: &str = "import pandas as pd\n\ntrain = pd.read_csv('train.csv')\nprint(";

fn close(left: &[GeneratedSample], right: &[GeneratedSample]) {
    assert_eq!(left.len(), right.len());
    for (left, right) in left.iter().zip(right) {
        assert_eq!(left.token_ids, right.token_ids);
        assert_eq!(
            (&left.text, left.finish_reason),
            (&right.text, right.finish_reason)
        );
        let far = left
            .logprobs
            .iter()
            .zip(&right.logprobs)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max);
        assert!(far < 1e-4, "log-probs are {far} apart");
    }
}

#[tokio::test]
async fn request_gives_the_same_alone_and_in_a_batch() {
    let engine = engine(&EngineConfig::default());
    let strong = loaded(strong_adapter(1));
    let questions = [
        (STORY, 1, None),
        (CODE, 2, None),
        (STORY, 3, Some(strong)),
        (CODE, 4, None),
    ];
    let questions = questions.map(|(text, seed, adapter)| {
        let mut question = question(text, Sampling::training(10, seed, 0));
        question.adapter = adapter;
        question
    });
    let mut alone = Vec::new();
    for question in &questions {
        alone.push(engine.ask(question.clone()).await.unwrap());
    }
    let together = join_all(questions.iter().map(|question| engine.ask(question.clone()))).await;
    for (alone, together) in alone.iter().zip(together) {
        close(alone, &together.unwrap());
    }
}

#[tokio::test]
async fn samples_differ_and_are_those_of_separate_requests() {
    let forking = engine(&EngineConfig::default());
    let mut wide = question(STORY, Sampling::training(8, 7, 0));
    wide.n = 4;
    let samples = forking.ask(wide.clone()).await.unwrap();
    close(&samples, &forking.ask(wide).await.unwrap());
    let mut texts = samples.iter().map(|sample| &sample.text).collect::<Vec<_>>();
    texts.sort();
    texts.dedup();
    assert!(texts.len() >= 3, "{texts:?}");

    // Another engine, no prompt kept, tiny chunks: every sample has a prefill of its own.
    let apart = EngineConfig {
        prompt_tokens_kept: 0,
        max_tokens_per_step: 3,
        ..EngineConfig::default()
    };
    let apart = engine(&apart);
    for (index, sample) in samples.iter().enumerate() {
        let alone = apart
            .ask(question(STORY, Sampling::training(8, 7, index as u32)))
            .await
            .unwrap();
        close(std::slice::from_ref(sample), &alone);
    }
    assert_eq!(apart.totals().reused(), 0);
}

#[tokio::test]
async fn equal_prompts_of_separate_requests_are_read_once() {
    let engine = engine(&EngineConfig {
        max_tokens_per_step: 4,
        ..EngineConfig::default()
    });
    let length = ids(STORY).len() as u64;
    let group = (0..6).map(|index| engine.ask(question(STORY, Sampling::training(3, 5, index))));
    join_all(group)
        .await
        .into_iter()
        .for_each(|samples| assert_eq!(samples.unwrap().len(), 1));
    assert_eq!(
        (engine.totals().prefilled(), engine.totals().reused()),
        (length, 5 * length)
    );
    // A late sibling, too; under an adapter it is another prompt.
    engine
        .ask(question(STORY, Sampling::training(1, 5, 6)))
        .await
        .unwrap();
    assert_eq!(engine.totals().prefilled(), length);
    let mut adapted = question(STORY, Sampling::training(1, 5, 0));
    adapted.adapter = Some(loaded(strong_adapter(1)));
    engine.ask(adapted).await.unwrap();
    assert_eq!(engine.totals().prefilled(), 2 * length);
}

#[tokio::test]
async fn stop_text_over_a_token_boundary_ends_the_sample_and_is_not_in_the_text() {
    let engine = engine(&EngineConfig::default());
    let free = engine
        .ask(question(STORY, Sampling::greedy(8)))
        .await
        .unwrap()
        .remove(0);
    let piece = |place: usize| lm().tokenizer.token_bytes(free.token_ids[place]).to_vec();
    // The last byte of one token and the first of the next.
    let before = (0..4).map(|place| piece(place).len()).sum::<usize>();
    let stop = free
        .text
        .get(before - 1..=before)
        .expect("greedy text is ASCII")
        .to_owned();
    let mut sampling = Sampling::greedy(8);
    sampling.stop = vec!["never said".into(), stop.clone()];
    let stopped = engine.ask(question(STORY, sampling)).await.unwrap().remove(0);
    assert_eq!(stopped.finish_reason, FinishReason::Stop);
    let first = free.text.find(&stop).unwrap();
    assert_eq!(stopped.text, free.text[..first]);
    assert!(stopped.token_ids.len() <= 5 && free.token_ids.starts_with(&stopped.token_ids));
    assert_eq!(stopped.logprobs.len(), stopped.token_ids.len());
}

#[tokio::test]
async fn end_token_ends_the_sample_unless_it_comes_too_early() {
    let engine = engine(&EngineConfig::default());
    let text = "<|im_start|>user\nSay hi.<|im_end|>\n<|im_start|>assistant\nHi!";
    let prompt = lm()
        .tokenizer
        .encode(text, journeyman_lm::tokenizer::Specials::Parse)
        .unwrap();
    let ask = |min_tokens| {
        let mut question = question(
            STORY,
            Sampling {
                min_tokens,
                ..Sampling::greedy(40)
            },
        );
        question.prompt = prompt.clone().into();
        engine.ask(question)
    };
    let sample = ask(0).await.unwrap().remove(0);
    assert_eq!(sample.finish_reason, FinishReason::Stop);
    let ends = lm().tokenizer.end_ids().to_vec();
    assert!(ends.contains(sample.token_ids.last().unwrap()), "{sample:?}");
    assert!(!sample.text.contains("<|im_end|>"));
    let longer = ask(sample.token_ids.len() as u32 + 3).await.unwrap().remove(0);
    assert!(longer.token_ids.len() > sample.token_ids.len() + 2);
}

#[tokio::test]
async fn context_end_finishes_with_length() {
    let mut small = load();
    small.config.context_length = ids(STORY).len() + 5;
    let engine = Engine::start(Arc::new(small), &EngineConfig::default(), Arc::new(NoMeter)).unwrap();
    let sample = engine
        .ask(question(STORY, Sampling::greedy(1000)))
        .await
        .unwrap()
        .remove(0);
    assert_eq!(
        (sample.token_ids.len(), sample.finish_reason),
        (5, FinishReason::Length)
    );
}

#[tokio::test]
async fn nan_logits_fail_that_request_alone() {
    let engine = engine(&EngineConfig::default());
    let mut broken = question(STORY, Sampling::greedy(4));
    broken.adapter = Some(loaded(adapter(1, |_, _| f32::NAN)));
    let (broken, sound) = tokio::join!(
        engine.ask(broken),
        engine.ask(question(STORY, Sampling::greedy(4)))
    );
    let fault = broken.unwrap_err();
    assert_eq!(fault.code, FaultCode::Internal);
    assert!(fault.message.contains("NaN"), "{fault}");
    assert_eq!(sound.unwrap()[0].token_ids.len(), 4);
}

#[tokio::test]
async fn deadline_and_lost_asker_free_the_row() {
    let one_row = engine(&EngineConfig {
        max_rows: 1,
        ..EngineConfig::default()
    });
    let mut late = question(STORY, Sampling::training(4000, 1, 0));
    late.sampling.min_tokens = 4000;
    late.deadline = Instant::now() + Duration::from_millis(300);
    let fault = one_row.ask(late.clone()).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::DeadlineExceeded);
    one_row.ask(question(CODE, Sampling::greedy(1))).await.unwrap();

    late.deadline = Instant::now() + Duration::from_secs(600);
    let asker = beside({
        let (engine, late) = (one_row.clone(), late.clone());
        async move { engine.ask(late).await }
    });
    rows(&one_row, 1).await;
    asker.abort();
    one_row.ask(question(CODE, Sampling::greedy(1))).await.unwrap();
    rows(&one_row, 0).await;
}

#[tokio::test]
async fn full_queue_says_busy_and_forgets_those_who_left() {
    let engine = engine(&EngineConfig {
        max_rows: 1,
        max_waiting: 1,
        ..EngineConfig::default()
    });
    let mut long = question(STORY, Sampling::training(4000, 1, 0));
    long.sampling.min_tokens = 4000;
    let running = beside({
        let (engine, long) = (engine.clone(), long.clone());
        async move { engine.ask(long).await }
    });
    rows(&engine, 1).await;
    let mut waiting = Box::pin(engine.ask(question(CODE, Sampling::greedy(1))));
    assert!(futures::poll!(&mut waiting).is_pending());
    let fault = engine.ask(question(CODE, Sampling::greedy(1))).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::Busy);
    assert!(fault.message.contains("max_waiting"), "{fault}");
    drop(waiting);
    let mut next = Box::pin(engine.ask(question(CODE, Sampling::greedy(1))));
    assert!(futures::poll!(&mut next).is_pending());
    running.abort();
    assert_eq!(next.await.unwrap().len(), 1);
}

#[tokio::test]
async fn more_samples_than_rows_are_drawn_in_turn() {
    let engine = engine(&EngineConfig {
        max_rows: 2,
        ..EngineConfig::default()
    });
    let mut wide = question(STORY, Sampling::training(3, 9, 0));
    wide.n = 5;
    let samples = engine.ask(wide).await.unwrap();
    assert!(samples.len() == 5 && samples.iter().all(|sample| sample.token_ids.len() == 3));
}

async fn rows(engine: &Engine, wanted: usize) {
    let watched = async {
        while engine.totals().rows() != wanted {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), watched)
        .await
        .expect("the number of rows is reached");
}
