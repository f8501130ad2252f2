//! Scenario `inference`: generated tokens per second of an OpenAI-compatible server, at several degrees of parallelism.
//!
//! Ours and the peers are measured in turn within each round, so that what else runs on the machine meets all alike;
//! the table shows medians.

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::report::{Must, Report, Row, median};

/// Rounds that make a median.
const FEWEST_ROUNDS: u32 = 3;

/// What to measure.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Our server, without `/v1`.
    #[arg(long)]
    pub url: String,
    /// The `model` field of every request.
    #[arg(long)]
    pub model: String,
    /// Requests at a time.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 32], value_parser = clap::value_parser!(u32).range(1..))]
    pub parallel: Vec<u32>,
    /// About how long each prompt is, in tokens.
    #[arg(long, default_value_t = 100)]
    pub prompt_tokens: u32,
    /// Tokens to generate for each request.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_tokens: u32,
    /// Rounds, of which the median counts.
    #[arg(long, default_value_t = FEWEST_ROUNDS, value_parser = clap::value_parser!(u32).range(FEWEST_ROUNDS as i64..))]
    pub rounds: u32,
    /// Another server on the same machine and model file; may be given more than once.
    #[arg(long)]
    pub peer_url: Vec<String>,
    /// The `model` field for peers, if it is another.
    #[arg(long)]
    pub peer_model: Option<String>,
    /// One prompt for all parallel requests, as a group of rollouts has; else each has its own.
    #[arg(long)]
    pub same_prompt: bool,
    /// Seconds that one request may take.
    #[arg(long, default_value_t = 600)]
    pub timeout_s: u64,
}

/// Measures, and says what must hold: against the best peer 1.0 times at one request, 1.25 times up to 8, 1.75 times
/// beyond.
///
/// # Errors
/// A server that can't be reached, or that refuses a request.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    let client = reqwest::Client::builder()
        .timeout(Duration::from_secs(options.timeout_s))
        .build()?;
    let ours = Server {
        client: client.clone(),
        url: options.url.clone(),
        model: options.model.clone(),
    };
    let peer_model = options.peer_model.as_ref().unwrap_or(&options.model);
    let peer = |url: &String| Server {
        client: client.clone(),
        url: url.clone(),
        model: peer_model.clone(),
    };
    let peers = options.peer_url.iter().map(peer).collect::<Vec<_>>();

    for server in peers.iter().chain([&ours]) {
        // Not measured: the first request may load or compile.
        server.complete(options, &prompt(options, 0, 0)).await?;
    }
    let mut rows = Vec::new();
    let mut prompt_tokens = 0;
    for &parallel in &options.parallel {
        let mut our_rates = Vec::new();
        let mut peer_rates = vec![Vec::new(); peers.len()];
        for round in 0..options.rounds {
            let measured = ours.measure(options, parallel, round).await?;
            prompt_tokens = measured.prompt_tokens / u64::from(parallel);
            our_rates.push(measured.rate());
            for (peer, rates) in peers.iter().zip(&mut peer_rates) {
                rates.push(peer.measure(options, parallel, round).await?.rate());
            }
        }
        let peer_medians = peer_rates.into_iter().map(median).collect::<Vec<_>>();
        let name = format!("{parallel} parallel, tok/s");
        rows.push(Row::new(
            name,
            median(our_rates),
            &peer_medians,
            Some(must(parallel)),
        ));
    }
    let title = format!(
        "model `{}`, prompt {prompt_tokens} tokens{}, {} new, temperature 1, medians of {} rounds",
        options.model,
        if options.same_prompt { " (one for all)" } else { "" },
        options.max_tokens,
        options.rounds,
    );
    Ok(Report {
        scenario: "inference",
        title,
        rows,
    })
}

fn must(parallel: u32) -> Must {
    Must::RatioAtLeast(match parallel {
        1 => 1.0,
        2..=8 => 1.25,
        _ => 1.75,
    })
}

/// A server under measurement.
struct Server {
    client: reqwest::Client,
    url: String,
    model: String,
}

/// What came of some requests.
struct Measured {
    prompt_tokens: u64,
    completion_tokens: u64,
    seconds: f64,
}

impl Measured {
    /// Generated tokens per second.
    fn rate(&self) -> f64 {
        self.completion_tokens as f64 / self.seconds
    }
}

impl Server {
    /// `parallel` requests at once.
    async fn measure(&self, options: &Options, parallel: u32, round: u32) -> anyhow::Result<Measured> {
        let prompts = (0..parallel)
            .map(|request| prompt(options, round + 1, request))
            .collect::<Vec<_>>();
        let started = Instant::now();
        let answers = join_all(prompts.iter().map(|prompt| self.complete(options, prompt))).await;
        let seconds = started.elapsed().as_secs_f64();
        let mut measured = Measured {
            prompt_tokens: 0,
            completion_tokens: 0,
            seconds,
        };
        for answer in answers {
            let usage = answer?;
            measured.prompt_tokens += usage.prompt_tokens;
            measured.completion_tokens += usage.completion_tokens;
        }
        Ok(measured)
    }

    async fn complete(&self, options: &Options, prompt: &str) -> anyhow::Result<Usage> {
        let url = format!("{}/v1/chat/completions", self.url.trim_end_matches('/'));
        let body = json!({
            "model": self.model,
            "messages": [{ "role": "system", "content": "You write." }, { "role": "user", "content": prompt }],
            "max_tokens": options.max_tokens,
            // Servers that know one of these generate the whole length.
            "min_tokens": options.max_tokens,
            "ignore_eos": true,
            "temperature": 1.0,
        });
        let response = self.client.post(&url).json(&body).send().await;
        let response = response.with_context(|| format!("`{url}` can't be reached"))?;
        let status = response.status();
        let text = response
            .text()
            .await
            .with_context(|| format!("`{url}` broke off its answer"))?;
        if !status.is_success() {
            bail!("`{url}` answered {status}: {text}");
        }
        usage(&text).with_context(|| format!("`{url}` answered without a whole `usage`: {text}"))
    }
}

/// Token counts of one answer.
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

fn usage(text: &str) -> Option<Usage> {
    let usage = serde_json::from_str::<Value>(text).ok()?.get("usage")?.clone();
    let count = |name: &str| usage.get(name)?.as_u64();
    Some(Usage {
        prompt_tokens: count("prompt_tokens")?,
        completion_tokens: count("completion_tokens")?,
    })
}

/// A text of about `prompt_tokens` tokens; it differs from its start, so that no server can reuse another's prefix.
fn prompt(options: &Options, round: u32, request: u32) -> String {
    const WORDS: [&str; 12] = [
        "data", "model", "train", "table", "score", "column", "value", "split", "mean", "count", "plot",
        "fit",
    ];
    let request = if options.same_prompt { 0 } else { request };
    let start = format!("{round} {request}: write a long story with these words:");
    // The template and the start take about 30 tokens; each word is one.
    let words = options.prompt_tokens.saturating_sub(30);
    (0..words).fold(start, |text, place| {
        text + " " + WORDS[((place + request) % 12) as usize]
    })
}
