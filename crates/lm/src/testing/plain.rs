//! The decoder once more, in plain f64 loops over whole sequences: what the fast one is compared with.

use crate::config::{Architecture, ModelConfig};
use crate::weights::NamedTensors;

/// A model, and optionally an adapter's flat parameters.
pub(crate) struct Plain<'a> {
    pub(crate) config: &'a ModelConfig,
    pub(crate) tensors: &'a NamedTensors,
    pub(crate) adapter: Option<PlainAdapter>,
}

#[derive(Clone)]
pub(crate) struct PlainAdapter {
    pub(crate) parameters: Vec<f64>,
    pub(crate) rank: usize,
    pub(crate) scale: f64,
}

type Rows = Vec<Vec<f64>>;

impl Plain<'_> {
    /// Logits after each token, `[N, V]`.
    pub(crate) fn logits(&self, tokens: &[u32]) -> Rows {
        let config = self.config;
        let hidden = config.hidden_size;
        let embedding = self.tensors.get("token_embd.weight").unwrap();
        let mut x: Rows = tokens
            .iter()
            .map(|&token| {
                embedding[token as usize * hidden..][..hidden]
                    .iter()
                    .map(|&v| v.into())
                    .collect()
            })
            .collect();
        for layer in 0..config.layers {
            let name = |tensor: &str| format!("blk.{layer}.{tensor}");
            let normed = self.norm(&x, &name("attn_norm.weight"));
            let mut q = self.linear(&normed, layer, 0, &name("attn_q"));
            let mut k = self.linear(&normed, layer, 1, &name("attn_k"));
            let v = self.linear(&normed, layer, 2, &name("attn_v"));
            self.rotate(&mut q);
            self.rotate(&mut k);
            let attended = self.attend(&q, &k, &v);
            add(&mut x, &self.linear(&attended, layer, 3, &name("attn_output")));
            let normed = self.norm(&x, &name("ffn_norm.weight"));
            let mut gate = self.linear(&normed, layer, 4, &name("ffn_gate"));
            let up = self.linear(&normed, layer, 5, &name("ffn_up"));
            for (gate, up) in gate.iter_mut().flatten().zip(up.iter().flatten()) {
                *gate = *gate / (1.0 + (-*gate).exp()) * up;
            }
            add(&mut x, &self.linear(&gate, layer, 6, &name("ffn_down")));
        }
        let normed = self.norm(&x, "output_norm.weight");
        normed.iter().map(|row| multiply(row, embedding)).collect()
    }

    /// Log-probability of `targets[i]` after `tokens[..=i]`, and the entropy, over the sampleable ids.
    pub(crate) fn scores(&self, tokens: &[u32], targets: &[u32], sampleable: &[bool]) -> Vec<(f64, f64)> {
        let logits = self.logits(tokens);
        let scores = logits.iter().zip(targets).map(|(logits, &target)| {
            let kept = || {
                logits
                    .iter()
                    .zip(sampleable)
                    .filter(|(_, keep)| **keep)
                    .map(|(logit, _)| *logit)
            };
            let sum: f64 = kept().map(f64::exp).sum();
            let entropy = kept().map(|logit| -(logit - sum.ln()) * logit.exp() / sum).sum();
            (logits[target as usize] - sum.ln(), entropy)
        });
        scores.collect()
    }

    fn norm(&self, x: &Rows, name: &str) -> Rows {
        let weight = self.tensors.get(name).unwrap();
        x.iter()
            .map(|row| {
                let square = row.iter().map(|v| v * v).sum::<f64>() / row.len() as f64;
                let scale = 1.0 / (square + self.config.rms_norm_eps).sqrt();
                row.iter()
                    .zip(weight)
                    .map(|(v, weight)| v * scale * f64::from(*weight))
                    .collect()
            })
            .collect()
    }

    fn linear(&self, x: &Rows, layer: usize, map: usize, name: &str) -> Rows {
        let weight = self.tensors.get(&format!("{name}.weight")).unwrap();
        let bias = self.tensors.get(&format!("{name}.bias"));
        x.iter()
            .map(|row| {
                let mut out = multiply(row, weight);
                if let Some(bias) = bias {
                    out.iter_mut()
                        .zip(bias)
                        .for_each(|(out, bias)| *out += f64::from(*bias));
                }
                if let Some(adapter) = &self.adapter {
                    adapter.add(self.config, layer, map, row, &mut out);
                }
                out
            })
            .collect()
    }

    /// Rotates pairs: halves of a head for qwen2, neighbours for llama, as their files have them.
    fn rotate(&self, x: &mut Rows) {
        let size = self.config.head_dim;
        for (position, row) in x.iter_mut().enumerate() {
            for head in row.chunks_exact_mut(size) {
                for index in 0..size / 2 {
                    let (left, right) = match self.config.architecture {
                        Architecture::Qwen2 => (index, index + size / 2),
                        Architecture::Llama => (2 * index, 2 * index + 1),
                    };
                    let exponent = -2.0 * index as f64 / size as f64;
                    let (sine, cosine) = (position as f64 * self.config.rope_theta.powf(exponent)).sin_cos();
                    let (a, b) = (head[left], head[right]);
                    head[left] = a * cosine - b * sine;
                    head[right] = b * cosine + a * sine;
                }
            }
        }
    }

    fn attend(&self, q: &Rows, k: &Rows, v: &Rows) -> Rows {
        let (size, group) = (self.config.head_dim, self.config.heads / self.config.kv_heads);
        q.iter()
            .enumerate()
            .map(|(position, q)| {
                let mut out = vec![0.0; q.len()];
                for head in 0..self.config.heads {
                    let own = head * size..(head + 1) * size;
                    let shared = head / group * size..(head / group + 1) * size;
                    let scores = k[..=position].iter().map(|k| {
                        let dot: f64 = q[own.clone()]
                            .iter()
                            .zip(&k[shared.clone()])
                            .map(|(q, k)| q * k)
                            .sum();
                        (dot / (size as f64).sqrt()).exp()
                    });
                    let scores: Vec<f64> = scores.collect();
                    let sum: f64 = scores.iter().sum();
                    for (score, v) in scores.iter().zip(v) {
                        for (out, v) in out[own.clone()].iter_mut().zip(&v[shared.clone()]) {
                            *out += score / sum * v;
                        }
                    }
                }
                out
            })
            .collect()
    }
}

impl PlainAdapter {
    fn add(&self, config: &ModelConfig, layer: usize, map: usize, x: &[f64], out: &mut [f64]) {
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let (queries, keys) = (config.heads * config.head_dim, config.kv_heads * config.head_dim);
        let maps = [
            (hidden, queries),
            (hidden, keys),
            (hidden, keys),
            (queries, hidden),
            (hidden, inner),
            (hidden, inner),
            (inner, hidden),
        ];
        let size = |(inner, outer): &(usize, usize)| self.rank * (inner + outer);
        let start =
            layer * maps.iter().map(size).sum::<usize>() + maps[..map].iter().map(size).sum::<usize>();
        let (down, up) = self.parameters[start..][..size(&maps[map])].split_at(self.rank * maps[map].0);
        let middle: Vec<f64> = down
            .chunks_exact(x.len())
            .map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum())
            .collect();
        for (out, row) in out.iter_mut().zip(up.chunks_exact(self.rank)) {
            *out += self.scale * row.iter().zip(&middle).map(|(b, m)| b * m).sum::<f64>();
        }
    }
}

fn multiply(row: &[f64], weight: &[f32]) -> Vec<f64> {
    weight
        .chunks_exact(row.len())
        .map(|weight| {
            weight
                .iter()
                .zip(row)
                .map(|(weight, v)| f64::from(*weight) * v)
                .sum()
        })
        .collect()
}

fn add(x: &mut Rows, y: &Rows) {
    x.iter_mut()
        .flatten()
        .zip(y.iter().flatten())
        .for_each(|(x, y)| *x += y);
}
