//! Low-rank adapters: `x·W + b + s·(x·A)·B` with `s = alpha / rank`, on the seven linear maps of each block.
//!
//! Parameters are one flat list. For each block, for each of q, k, v, o, gate, up and down in this
//! order: A as `[rank, in]`, then B as `[out, rank]`, both row-major, as in a PEFT file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use safetensors::{Dtype, SafeTensors};
use sha2::{Digest, Sha256};

use crate::config::ModelConfig;
use crate::device::Device;
use crate::matrix::{LowRank, LowRankPart, Weight};
use crate::model::Model;

/// Size and strength of an adapter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoraConfig {
    /// Inner size of each pair of factors, at least 1.
    pub rank: usize,
    /// The product of the factors is multiplied by `alpha / rank`.
    pub alpha: f64,
}

/// Immutable adapter weights on the device of their model; named by the hash of their file form.
pub struct Adapter {
    config: LoraConfig,
    base_sha256: String,
    shape: AdapterShape,
    device: Device,
    parameters: Arc<[f32]>,
    layers: Vec<LayerAddition>,
    hash: OnceLock<String>,
}

/// Why bytes or parameters do not make an adapter for a model.
#[derive(Debug, thiserror::Error)]
pub enum AdapterError {
    /// The bytes end early or their header is wrong.
    #[error("adapter file is truncated or not in safetensors form")]
    Format(#[source] safetensors::SafeTensorError),
    /// A metadata field is missing or not a number.
    #[error("adapter metadata `{key}` is `{found}`, expected {expected}")]
    Metadata {
        /// The field.
        key: &'static str,
        /// What the file has.
        found: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// Trained on another base model.
    #[error("adapter was trained on the base with SHA-256 `{found}`, this model has `{expected}`")]
    OtherBase {
        /// Hash in the adapter.
        found: String,
        /// Hash of the model's file.
        expected: String,
    },
    /// A tensor is missing, or has another shape or type.
    #[error("adapter tensor `{name}` is {found}, expected {expected}")]
    Tensor {
        /// The tensor.
        name: String,
        /// What the file has.
        found: String,
        /// What the model needs.
        expected: String,
    },
    /// The file has tensors that the model has no place for.
    #[error("adapter has {found} tensors, the model has places for {expected}")]
    ExtraTensors {
        /// Tensors in the file.
        found: usize,
        /// Tensors of the model's shape.
        expected: usize,
    },
    /// Not as many parameters as the shape has.
    #[error("got {found} adapter parameters, expected {expected}")]
    ParameterCount {
        /// Parameters given.
        found: usize,
        /// Parameters of the shape.
        expected: usize,
    },
}

/// The linear maps of a model, and the rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AdapterShape {
    layers: usize,
    rank: usize,
    /// `(in, out)` of q, k, v, o, gate, up and down.
    maps: [(usize, usize); 7],
}

/// What an adapter adds in one block.
pub(crate) struct LayerAddition {
    pub(crate) projections: LowRank,
    pub(crate) output: LowRank,
    pub(crate) gate_up: LowRank,
    pub(crate) down: LowRank,
}

/// PEFT's names of the seven maps, in the order of the flat parameters.
const MAPS: [&str; 7] = [
    "self_attn.q_proj",
    "self_attn.k_proj",
    "self_attn.v_proj",
    "self_attn.o_proj",
    "mlp.gate_proj",
    "mlp.up_proj",
    "mlp.down_proj",
];

impl Adapter {
    /// A fresh adapter that changes nothing: A uniform within `±1/√in` (Kaiming, a = √5), B zero.
    pub fn init(model: &Model, base_sha256: &str, config: LoraConfig, seed: u64) -> Self {
        let shape = AdapterShape::new(model.config(), config.rank);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut parameters = vec![0.0; shape.parameters()];
        for layer in 0..shape.layers {
            for (map, (inner, _)) in shape.maps.iter().enumerate() {
                let bound = (*inner as f32).sqrt().recip();
                for value in &mut parameters[shape.down(layer, map)] {
                    *value = random.random_range(-bound..bound);
                }
            }
        }
        Self::build(
            config,
            base_sha256.to_owned(),
            shape,
            model.device.clone(),
            parameters.into(),
        )
    }

    /// An adapter of the same shape, scale and base with other parameters, in the order of [`parameters`](Self::parameters).
    ///
    /// # Errors
    /// Another number of parameters.
    pub fn with_parameters(&self, parameters: &[f32]) -> Result<Self, AdapterError> {
        let expected = self.shape.parameters();
        if parameters.len() != expected {
            return Err(AdapterError::ParameterCount {
                found: parameters.len(),
                expected,
            });
        }
        Ok(Self::build(
            self.config,
            self.base_sha256.clone(),
            self.shape.clone(),
            self.device.clone(),
            parameters.into(),
        ))
    }

    /// All parameters, in the order that the module documentation gives.
    pub fn parameters(&self) -> Vec<f32> {
        self.parameters.to_vec()
    }

    /// Size and strength.
    pub fn config(&self) -> LoraConfig {
        self.config
    }

    /// SHA-256 of the base model's file.
    pub fn base_sha256(&self) -> &str {
        &self.base_sha256
    }

    /// SHA-256 of [`to_safetensors`](Self::to_safetensors), in hex.
    pub fn hash(&self) -> &str {
        self.hash
            .get_or_init(|| hex(&Sha256::digest(self.to_safetensors())))
    }

    /// The file form: PEFT names and layouts, with rank, alpha and the base's hash as metadata.
    ///
    /// Equal adapters give equal bytes.
    pub fn to_safetensors(&self) -> Vec<u8> {
        let mut entries = serde_json::Map::new();
        let metadata: BTreeMap<&str, String> = BTreeMap::from([
            ("alpha", self.config.alpha.to_string()),
            ("base_sha256", self.base_sha256.clone()),
            ("format", "pt".to_owned()),
            ("rank", self.config.rank.to_string()),
        ]);
        entries.insert("__metadata__".to_owned(), serde_json::json!(metadata));
        let mut start = 0;
        for tensor in self.shape.tensors() {
            let end = start + tensor.range.len() * 4;
            entries.insert(
                tensor.name,
                serde_json::json!({"dtype": "F32", "shape": tensor.dims, "data_offsets": [start, end]}),
            );
            start = end;
        }
        let mut header = serde_json::Value::Object(entries).to_string();
        while !header.len().is_multiple_of(8) {
            header.push(' ');
        }
        let mut bytes = Vec::with_capacity(8 + header.len() + start);
        bytes.extend((header.len() as u64).to_le_bytes());
        bytes.extend(header.as_bytes());
        // Tensors are listed in the order of the flat parameters, so their bytes are these.
        bytes.extend(self.parameters.iter().flat_map(|value| value.to_le_bytes()));
        bytes
    }

    /// Reads the file form, and checks it against the model.
    ///
    /// # Errors
    /// Truncated bytes, another base model, another shape, a tensor that is missing or too many.
    pub fn from_safetensors(bytes: &[u8], model: &Model, base_sha256: &str) -> Result<Self, AdapterError> {
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(AdapterError::Format)?;
        let file = SafeTensors::deserialize(bytes).map_err(AdapterError::Format)?;
        let field = |key: &'static str| {
            header
                .metadata()
                .as_ref()
                .and_then(|fields| fields.get(key))
                .cloned()
        };
        let found = field("base_sha256").unwrap_or_default();
        if found != base_sha256 {
            return Err(AdapterError::OtherBase {
                found,
                expected: base_sha256.to_owned(),
            });
        }
        let found = field("rank").unwrap_or_default();
        let rank = found
            .parse::<usize>()
            .ok()
            .filter(|rank| (1..=4096).contains(rank))
            .ok_or(AdapterError::Metadata {
                key: "rank",
                found,
                expected: "a number from 1 to 4096",
            })?;
        let found = field("alpha").unwrap_or_default();
        let alpha = found
            .parse::<f64>()
            .ok()
            .filter(|alpha| alpha.is_finite())
            .ok_or(AdapterError::Metadata {
                key: "alpha",
                found,
                expected: "a finite number",
            })?;
        let shape = AdapterShape::new(model.config(), rank);
        let mut parameters = Vec::with_capacity(shape.parameters());
        let tensors = shape.tensors();
        for wanted in &tensors {
            let error = |found: String| AdapterError::Tensor {
                name: wanted.name.clone(),
                found,
                expected: format!("F32 {:?}", wanted.dims),
            };
            let tensor = file
                .tensor(&wanted.name)
                .map_err(|_| error("missing".to_owned()))?;
            if tensor.dtype() != Dtype::F32 || tensor.shape() != wanted.dims {
                return Err(error(format!("{:?} {:?}", tensor.dtype(), tensor.shape())));
            }
            let (values, _) = tensor.data().as_chunks::<4>();
            parameters.extend(values.iter().map(|value| f32::from_le_bytes(*value)));
        }
        if file.len() != tensors.len() {
            return Err(AdapterError::ExtraTensors {
                found: file.len(),
                expected: tensors.len(),
            });
        }
        let config = LoraConfig { rank, alpha };
        Ok(Self::build(
            config,
            base_sha256.to_owned(),
            shape,
            model.device.clone(),
            parameters.into(),
        ))
    }

    /// The additions of each block, if the adapter has the shape of this model.
    pub(crate) fn layers(&self, model: &Model) -> Option<&[LayerAddition]> {
        (self.shape == AdapterShape::new(model.config(), self.config.rank) && self.device == model.device)
            .then_some(self.layers.as_slice())
    }

    /// Names and dimensions of the file's tensors, in the order of the flat parameters.
    #[cfg(test)]
    pub(crate) fn tensor_names(&self) -> Vec<(String, [usize; 2])> {
        self.shape
            .tensors()
            .into_iter()
            .map(|tensor| (tensor.name, tensor.dims))
            .collect()
    }

    pub(crate) fn shape(&self) -> &AdapterShape {
        &self.shape
    }

    /// `alpha / rank`
    pub(crate) fn scale(&self) -> f32 {
        (self.config.alpha / self.config.rank as f64) as f32
    }

    fn build(
        config: LoraConfig,
        base_sha256: String,
        shape: AdapterShape,
        device: Device,
        parameters: Arc<[f32]>,
    ) -> Self {
        let scale = (config.alpha / config.rank as f64) as f32;
        let layers = (0..shape.layers)
            .map(|layer| {
                let addition = |maps: Range<usize>| shape.addition(&parameters, layer, maps, scale, &device);
                LayerAddition {
                    projections: addition(0..3),
                    output: addition(3..4),
                    gate_up: addition(4..6),
                    down: addition(6..7),
                }
            })
            .collect();
        Self {
            config,
            base_sha256,
            shape,
            device,
            parameters,
            layers,
            hash: OnceLock::new(),
        }
    }
}

/// A tensor of the file form.
struct NamedRange {
    name: String,
    dims: [usize; 2],
    range: Range<usize>,
}

impl AdapterShape {
    pub(crate) fn new(config: &ModelConfig, rank: usize) -> Self {
        let (hidden, inner) = (config.hidden_size, config.intermediate_size);
        let (queries, keys) = (config.heads * config.head_dim, config.kv_heads * config.head_dim);
        Self {
            layers: config.layers,
            rank,
            maps: [
                (hidden, queries),
                (hidden, keys),
                (hidden, keys),
                (queries, hidden),
                (hidden, inner),
                (hidden, inner),
                (inner, hidden),
            ],
        }
    }

    /// Number of parameters.
    pub(crate) fn parameters(&self) -> usize {
        self.layers * self.layer_parameters()
    }

    /// Where A of a map lies in the flat parameters, `[rank, in]`.
    pub(crate) fn down(&self, layer: usize, map: usize) -> Range<usize> {
        let before: usize = self.maps[..map]
            .iter()
            .map(|(inner, outer)| self.rank * (inner + outer))
            .sum();
        let start = layer * self.layer_parameters() + before;
        start..start + self.rank * self.maps[map].0
    }

    /// Where B of a map lies in the flat parameters, `[out, rank]`.
    pub(crate) fn up(&self, layer: usize, map: usize) -> Range<usize> {
        let start = self.down(layer, map).end;
        start..start + self.rank * self.maps[map].1
    }

    fn layer_parameters(&self) -> usize {
        self.maps
            .iter()
            .map(|(inner, outer)| self.rank * (inner + outer))
            .sum()
    }

    /// The file's tensors, in the order of the flat parameters.
    fn tensors(&self) -> Vec<NamedRange> {
        let mut tensors = Vec::with_capacity(self.layers * MAPS.len() * 2);
        for layer in 0..self.layers {
            for (map, name) in MAPS.iter().enumerate() {
                let (inner, outer) = self.maps[map];
                let name =
                    |factor: &str| format!("base_model.model.model.layers.{layer}.{name}.{factor}.weight");
                tensors.push(NamedRange {
                    name: name("lora_A"),
                    dims: [self.rank, inner],
                    range: self.down(layer, map),
                });
                tensors.push(NamedRange {
                    name: name("lora_B"),
                    dims: [outer, self.rank],
                    range: self.up(layer, map),
                });
            }
        }
        tensors
    }

    /// The factors of maps that lie side by side, with the scale in the second.
    fn addition(
        &self,
        parameters: &[f32],
        layer: usize,
        maps: Range<usize>,
        scale: f32,
        device: &Device,
    ) -> LowRank {
        let (rank, inner) = (self.rank, self.maps[maps.start].0);
        let down = Weight::new(inner, maps.len() * rank, device, |column, out| {
            let start = self.down(layer, maps.start + column / rank).start + column % rank * inner;
            out.copy_from_slice(&parameters[start..start + inner]);
        });
        let mut offset = 0;
        let parts = maps
            .map(|map| {
                let columns = self.maps[map].1;
                let factor = &parameters[self.up(layer, map)];
                let up = Weight::new(rank, columns, device, |column, out| {
                    for (out, value) in out.iter_mut().zip(&factor[column * rank..(column + 1) * rank]) {
                        *out = scale * value;
                    }
                });
                offset += columns;
                LowRankPart {
                    up,
                    columns,
                    offset: offset - columns,
                }
            })
            .collect();
        LowRank { down, parts, rank }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
