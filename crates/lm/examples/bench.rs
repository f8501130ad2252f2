//! Measures prefill, decoding and training of a model file on the CPU.
//!
//! `cargo run --release -p journeyman-lm --example bench -- MODEL.gguf [prefill|decode [ROWS]|train]`
#![expect(clippy::print_stdout, reason = "prints its results")]

use std::path::Path;
use std::time::Instant;

use journeyman_lm::LanguageModel;
use journeyman_lm::device::Device;
use journeyman_lm::lora::{Adapter, LoraConfig};
use journeyman_lm::model::{Row, Wanted};
use journeyman_lm::sampling::{Draw, SamplingParams, sample};
use journeyman_lm::train::{MAX_TOKENS, TrainGroup, logprobs_and_gradient};
use rayon::prelude::*;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments
        .first()
        .ok_or("usage: bench MODEL.gguf [prefill|decode [ROWS]|train]")?;
    let only = arguments.get(1).map(String::as_str);
    let start = Instant::now();
    let lm = LanguageModel::load(Path::new(path), &Device::cpu())?;
    println!("load: {:.2} s", start.elapsed().as_secs_f64());
    if only.is_none_or(|only| only == "prefill") {
        prefill(&lm, 836)?;
    }
    if only.is_none_or(|only| only == "decode") {
        let rows = arguments.get(2).map(|rows| rows.parse()).transpose()?;
        for rows in rows.map_or(vec![1, 4, 8, 16, 32], |rows| vec![rows]) {
            decode(&lm, rows, false)?;
            decode(&lm, rows, true)?;
        }
    }
    if only.is_none_or(|only| only == "train") {
        train(&lm)?;
    }
    Ok(())
}

/// Ordinary token ids that look random.
fn tokens(count: usize, seed: usize) -> Vec<u32> {
    (0..count)
        .map(|index| (((index + seed * 7919) * 2_654_435_761) % 40_000) as u32 + 300)
        .collect()
}

fn prefill(lm: &LanguageModel, count: usize) -> Result<(), Box<dyn std::error::Error>> {
    let tokens = tokens(count, 1);
    for _ in 0..2 {
        let start = Instant::now();
        let mut sequence = lm.model.sequence();
        lm.model.forward(&mut [Row {
            sequence: &mut sequence,
            tokens: &tokens,
            adapter: None,
            logits: Wanted::Last,
        }])?;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "prefill of {count} tokens: {seconds:.2} s, {:.0} tok/s",
            count as f64 / seconds
        );
    }
    Ok(())
}

fn decode(lm: &LanguageModel, count: usize, adapted: bool) -> Result<(), Box<dyn std::error::Error>> {
    let steps = 24;
    let adapter = Adapter::init(
        &lm.model,
        &lm.sha256,
        LoraConfig {
            rank: 32,
            alpha: 64.0,
        },
        1,
    );
    let prompt = tokens(300, 2);
    let mut shared = lm.model.sequence();
    lm.model.forward(&mut [Row {
        sequence: &mut shared,
        tokens: &prompt,
        adapter: None,
        logits: Wanted::None,
    }])?;
    let mut sequences: Vec<_> = (0..count).map(|_| shared.fork()).collect();
    let mut last: Vec<u32> = (0..count as u32).map(|row| 1000 + row).collect();
    let (mut model_seconds, mut sample_seconds, mut cpu_before) = (0.0, 0.0, 0.0);
    for step in 0..steps + 2 {
        if step == 2 {
            cpu_before = cpu_seconds();
        }
        let start = Instant::now();
        let mut rows: Vec<Row<'_>> = sequences
            .iter_mut()
            .zip(&last)
            .map(|(sequence, token)| Row {
                sequence,
                tokens: std::slice::from_ref(token),
                adapter: adapted.then_some(&adapter),
                logits: Wanted::Last,
            })
            .collect();
        let logits = lm.model.forward(&mut rows)?;
        let middle = Instant::now();
        last = logits
            .par_iter()
            .enumerate()
            .map(|(row, logits)| {
                let draw = Draw {
                    logits: &logits.data,
                    sampleable: lm.tokenizer.sampleable(),
                    end_ids: lm.tokenizer.end_ids(),
                    prompt: &prompt,
                    generated: &[],
                    sample_index: row as u32,
                };
                sample(&draw, &SamplingParams::default()).map(|sampled| sampled.id)
            })
            .collect::<Result<_, _>>()?;
        if step >= 2 {
            model_seconds += (middle - start).as_secs_f64();
            sample_seconds += middle.elapsed().as_secs_f64();
        }
    }
    println!(
        "decode of {count} rows{}: {:.1} tok/s; a step takes {:.1} ms and {:.1} ms of sampling, {:.0} ms of CPU",
        if adapted { " with an adapter" } else { "" },
        (count * steps) as f64 / (model_seconds + sample_seconds),
        1e3 * model_seconds / steps as f64,
        1e3 * sample_seconds / steps as f64,
        1e3 * (cpu_seconds() - cpu_before) / steps as f64,
    );
    Ok(())
}

fn train(lm: &LanguageModel) -> Result<(), Box<dyn std::error::Error>> {
    let adapter = Adapter::init(
        &lm.model,
        &lm.sha256,
        LoraConfig {
            rank: 32,
            alpha: 64.0,
        },
        1,
    );
    let prompt = tokens(836, 3);
    let completions: Vec<Vec<u32>> = (0..16).map(|index| tokens(208, 10 + index)).collect();
    let group = TrainGroup {
        prompt: &prompt,
        completions: completions.iter().map(Vec::as_slice).collect(),
        max_tokens: MAX_TOKENS,
    };
    let (start, cpu_before) = (Instant::now(), cpu_seconds());
    let mut middle = start;
    logprobs_and_gradient(lm, &adapter, &group, |logprobs| {
        middle = Instant::now();
        logprobs.iter().map(|own| vec![-1e-3; own.len()]).collect()
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let trained: usize = completions.iter().map(Vec::len).sum();
    println!(
        "train on 836 + 16 x 208 tokens: {seconds:.1} s ({:.1} s forward and head; {:.1} s of CPU), {:.1} tok/s of completions, {:.1} tok/s in all",
        (middle - start).as_secs_f64(),
        cpu_seconds() - cpu_before,
        trained as f64 / seconds,
        (trained + prompt.len()) as f64 / seconds,
    );
    println!("peak memory: {}", peak_memory());
    Ok(())
}

/// CPU time of all threads so far, which a busy machine disturbs less than the clock.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.map_or("unknown".to_owned(), |line| {
        line["VmHWM:".len()..].trim().to_owned()
    })
}
