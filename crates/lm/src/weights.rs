//! Puts the tensors of a file where the model wants them, and refuses a file that does not match.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use crate::config::{Architecture, ModelConfig};
use crate::device::Device;
use crate::gguf::{Gguf, GgufError};
use crate::host::panels::Panels;
use crate::matrix::{Linear, Vector, Weight};

mod coded;

/// Named tensors in host memory, in the layout and with the names of a GGUF file.
///
/// A linear weight is `[out, in]`, row-major; a vector has one row.
#[derive(Debug, Clone, Default)]
pub struct NamedTensors(BTreeMap<String, MemoryTensor>);

#[derive(Debug, Clone)]
struct MemoryTensor {
    columns: usize,
    values: Vec<f32>,
}

impl NamedTensors {
    /// Adds a tensor of rows of `columns` values, replacing one of the same name.
    pub fn insert(&mut self, name: impl Into<String>, columns: usize, values: Vec<f32>) {
        self.0.insert(name.into(), MemoryTensor { columns, values });
    }

    /// The values of a tensor, row-major.
    pub fn get(&self, name: &str) -> Option<&[f32]> {
        self.0.get(name).map(|tensor| tensor.values.as_slice())
    }

    /// Removes a tensor.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }
}

/// Why the tensors do not make the model that the configuration describes.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// A tensor that the architecture needs is not there.
    #[error("tensor `{0}` is missing")]
    Missing(String),
    /// A tensor that the architecture does not use.
    #[error("tensors {0} are not used by this architecture, so its output would be wrong")]
    Unused(String),
    /// A tensor of another shape than the configuration says.
    #[error(
        "tensor `{name}` has {found_rows} rows of {found_columns} values, expected {rows} rows of {columns}"
    )]
    Shape {
        /// The tensor.
        name: String,
        /// Rows in the file.
        found_rows: usize,
        /// Values per row in the file.
        found_columns: usize,
        /// Rows expected.
        rows: usize,
        /// Values per row expected.
        columns: usize,
    },
    /// The file could not be read.
    #[error(transparent)]
    Gguf(#[from] GgufError),
}

/// Where tensors come from.
#[derive(Clone)]
pub(crate) enum Source {
    Gguf(Arc<Gguf>),
    Memory(Arc<NamedTensors>),
}

/// Hands out each tensor, checks its shape, and knows at the end which were never asked for.
pub(crate) struct Loader<'a> {
    source: &'a Source,
    config: &'a ModelConfig,
    device: &'a Device,
    used: Mutex<BTreeSet<String>>,
}

/// The rows of one tensor among those that lie side by side in a [`Linear`].
pub(crate) struct Part {
    /// Name without `.weight` and `.bias`.
    pub(crate) name: String,
    pub(crate) rows: usize,
    /// Heads whose rows a llama file has in pairs; 0 for rows that are in order.
    pub(crate) paired_heads: usize,
}

impl<'a> Loader<'a> {
    pub(crate) fn new(source: &'a Source, config: &'a ModelConfig, device: &'a Device) -> Self {
        Self {
            source,
            config,
            device,
            used: Mutex::new(BTreeSet::new()),
        }
    }

    /// Linear maps of one input, side by side.
    pub(crate) fn linear(&self, inner: usize, parts: &[Part], bias: bool) -> Result<Linear, WeightsError> {
        let mut rows = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            self.check(&format!("{}.weight", part.name), part.rows, inner)?;
            rows.extend((0..part.rows).map(|row| (index, self.file_row(part, row))));
        }
        let weight = self.weight(inner, parts, &rows)?;
        let bias = if bias {
            let mut values = Vec::with_capacity(rows.len());
            for part in parts {
                let name = format!("{}.bias", part.name);
                self.check(&name, 1, part.rows)?;
                let stored = self.read(&name)?;
                values.extend((0..part.rows).map(|row| stored[self.file_row(part, row)]));
            }
            Some(Vector::new(values, self.device))
        } else {
            None
        };
        Ok(Linear { weight, bias })
    }

    /// A vector of `len` values.
    pub(crate) fn vector(&self, name: &str, len: usize) -> Result<Vector, WeightsError> {
        self.check(name, 1, len)?;
        Ok(Vector::new(self.read(name)?, self.device))
    }

    /// Marks a table of rows as used, after a check of its shape.
    pub(crate) fn table(&self, name: &str, rows: usize, columns: usize) -> Result<(), WeightsError> {
        self.check(name, rows, columns)
    }

    /// True if the file has the tensor.
    pub(crate) fn contains(&self, name: &str) -> bool {
        match self.source {
            Source::Gguf(gguf) => gguf.tensor(name).is_ok(),
            Source::Memory(tensors) => tensors.0.contains_key(name),
        }
    }

    /// Refuses tensors that nobody asked for.
    pub(crate) fn finish(self) -> Result<(), WeightsError> {
        // A poisoned lock would mean that another thread panicked while it added a name: none does.
        let used = self.used.into_inner().expect("lock of used names is poisoned");
        let names: Vec<&str> = match self.source {
            Source::Gguf(gguf) => gguf.tensor_names().collect(),
            Source::Memory(tensors) => tensors.0.keys().map(String::as_str).collect(),
        };
        let unused: Vec<String> = names
            .into_iter()
            .filter(|name| !used.contains(*name))
            .map(|name| format!("`{name}`"))
            .collect();
        if unused.is_empty() {
            Ok(())
        } else {
            Err(WeightsError::Unused(unused.join(", ")))
        }
    }

    /// Which row of the file holds row `row` of a part in half-split order.
    ///
    /// Llama files hold the two halves of a head interleaved: row `2i + half` for row `half * D/2 + i`.
    fn file_row(&self, part: &Part, row: usize) -> usize {
        if part.paired_heads == 0 || self.config.architecture != Architecture::Llama {
            return row;
        }
        let size = part.rows / part.paired_heads;
        let (head, within) = (row / size, row % size);
        let (half, index) = (within / (size / 2), within % (size / 2));
        head * size + 2 * index + half
    }

    fn check(&self, name: &str, rows: usize, columns: usize) -> Result<(), WeightsError> {
        let (found_rows, found_columns) = match self.source {
            Source::Gguf(gguf) => {
                let tensor = gguf
                    .tensor(name)
                    .map_err(|_| WeightsError::Missing(name.to_owned()))?;
                (tensor.rows(), tensor.row_len())
            }
            Source::Memory(tensors) => {
                let tensor = tensors
                    .0
                    .get(name)
                    .ok_or_else(|| WeightsError::Missing(name.to_owned()))?;
                (tensor.values.len() / tensor.columns.max(1), tensor.columns)
            }
        };
        if (found_rows, found_columns) != (rows, columns) {
            return Err(WeightsError::Shape {
                name: name.to_owned(),
                found_rows,
                found_columns,
                rows,
                columns,
            });
        }
        // As in `finish`.
        self.used
            .lock()
            .expect("lock of used names is poisoned")
            .insert(name.to_owned());
        Ok(())
    }

    fn read(&self, name: &str) -> Result<Vec<f32>, WeightsError> {
        match self.source {
            Source::Gguf(gguf) => Ok(gguf.tensor(name)?.dequantize()),
            Source::Memory(tensors) => {
                let values = tensors
                    .get(name)
                    .ok_or_else(|| WeightsError::Missing(name.to_owned()))?;
                Ok(values.to_vec())
            }
        }
    }

    /// A weight whose column `c` is row `rows[c].1` of part `rows[c].0`.
    fn weight(&self, inner: usize, parts: &[Part], rows: &[(usize, usize)]) -> Result<Weight, WeightsError> {
        let names: Vec<String> = parts.iter().map(|part| format!("{}.weight", part.name)).collect();
        match self.source {
            Source::Gguf(gguf) => {
                let views = names
                    .iter()
                    .map(|name| gguf.tensor(name))
                    .collect::<Result<Vec<_>, _>>()?;
                let groupings: Option<Vec<_>> =
                    views.iter().map(|view| coded::grouping(view.dtype())).collect();
                if let Some(groupings) = groupings.filter(|_| self.device.is_host()) {
                    let group = groupings.iter().map(|own| own.group).min().unwrap_or(1);
                    let minima = groupings.iter().any(|own| own.minima);
                    let panels = Panels::coded(inner, rows.len(), group, minima, |column, out| {
                        let (part, row) = rows[column];
                        coded::read_row(&views[part], row, group, &mut vec![0.0; inner], out);
                    });
                    return Ok(Weight::Host(panels));
                }
                Ok(Weight::new(inner, rows.len(), self.device, |column, out| {
                    let (part, row) = rows[column];
                    views[part].dequantize_row(row, out);
                }))
            }
            Source::Memory(tensors) => {
                let tensors: Vec<&[f32]> = names.iter().filter_map(|name| tensors.get(name)).collect();
                Ok(Weight::new(inner, rows.len(), self.device, |column, out| {
                    let (part, row) = rows[column];
                    out.copy_from_slice(&tensors[part][row * inner..(row + 1) * inner]);
                }))
            }
        }
    }
}

impl Source {
    /// Copies rows of a table that was checked by [`Loader::table`] into `[rows, columns]` values.
    pub(crate) fn rows(&self, name: &str, rows: &[u32], columns: usize) -> Vec<f32> {
        let mut out = vec![0.0; rows.len() * columns];
        for (out, &row) in out.chunks_exact_mut(columns).zip(rows) {
            let row = row as usize;
            match self {
                Self::Gguf(gguf) => {
                    if let Ok(tensor) = gguf.tensor(name) {
                        tensor.dequantize_row(row, out);
                    }
                }
                Self::Memory(tensors) => {
                    if let Some(values) = tensors.get(name) {
                        out.copy_from_slice(&values[row * columns..(row + 1) * columns]);
                    }
                }
            }
        }
        out
    }
}
