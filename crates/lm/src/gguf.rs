//! What does a GGUF model file hold? Metadata, and quantized tensors that are read in place.
//!
//! The file is memory-mapped and its whole header is checked when it is opened, so that later
//! reads of metadata and tensors cannot fail on a corrupt file.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use self::header::TensorInfo;

mod blocks;
mod header;
mod tensor;
mod value;

pub use self::blocks::TensorType;
pub use self::tensor::TensorView;
pub use self::value::{Array, Value};

#[cfg(test)]
mod tests;

/// A memory-mapped GGUF file (version 2 or 3, little endian), validated on open.
pub struct Gguf {
    path: PathBuf,
    map: Mmap,
    metadata: HashMap<String, Value>,
    tensors: Vec<TensorInfo>,
    tensor_index: HashMap<String, usize>,
}

/// Why a GGUF file, or a field of it, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GgufError {
    /// The file cannot be opened or mapped.
    #[error("cannot open model file `{path}`")]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The first four bytes are not `GGUF`.
    #[error("`{path}` is not a GGUF file: it starts with `{found}`, not with `GGUF`")]
    Magic {
        /// The file.
        path: PathBuf,
        /// The first bytes, escaped.
        found: String,
    },
    /// A version this reader does not know, or a big-endian file.
    #[error("`{path}` has GGUF version {found} at byte 4; known versions are 2 and 3, little endian")]
    Version {
        /// The file.
        path: PathBuf,
        /// The version number read.
        found: u32,
    },
    /// The file ends in the middle of a field.
    #[error("`{path}` is truncated: `{field}` at byte {offset} takes {wanted} bytes, {available} are left")]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The header field, metadata key or tensor.
        field: String,
        /// Where the field begins, in bytes from the start of the file.
        offset: usize,
        /// Bytes the field takes, at least.
        wanted: u64,
        /// Bytes left in the file.
        available: usize,
    },
    /// A field has a value that no valid file has.
    #[error("`{path}` is corrupt: `{field}` at byte {offset}: {reason}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The header field, metadata key or tensor.
        field: String,
        /// Where the field begins, in bytes from the start of the file.
        offset: usize,
        /// The value found and what is allowed.
        reason: String,
    },
    /// A tensor's type is not one of [`TensorType`].
    #[error(
        "tensor `{tensor}` of `{path}` has type {type_id} (byte {offset}); known types are {}",
        TensorType::known()
    )]
    UnknownTensorType {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// The type id read.
        type_id: u32,
        /// Where the id lies, in bytes from the start of the file.
        offset: usize,
    },
    /// A metadata key that the caller needs is missing.
    #[error("`{path}` has no metadata key `{key}`")]
    MissingKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
    },
    /// A metadata value has another type, or another range, than the caller needs.
    #[error("metadata key `{key}` of `{path}` is {found}, expected {wanted}")]
    WrongType {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// What was expected, in words.
        wanted: &'static str,
        /// What the file has, in words.
        found: String,
    },
    /// A tensor that the caller needs is missing.
    #[error("`{path}` has no tensor `{tensor}`")]
    MissingTensor {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
    },
}

impl Gguf {
    /// Maps the file and checks its header: every field, and every tensor's extent against the
    /// size of the file.
    ///
    /// # Errors
    /// Names the file, the field or tensor, and the byte offset of what is wrong.
    pub fn open(path: &Path) -> Result<Self, GgufError> {
        let open_error = |source| GgufError::Open {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(open_error)?;
        if !file.metadata().map_err(open_error)?.is_file() {
            return Err(open_error(io::Error::other("not a regular file")));
        }
        #[expect(unsafe_code, reason = "mapping a file has no safe form")]
        // SAFETY: the map is read-only. Model files are installed by rename and never written in
        // place, so the mapped bytes do not change while the map lives.
        let map = unsafe { Mmap::map(&file) }.map_err(open_error)?;
        let header = header::parse(path, &map)?;
        let tensor_index = header
            .tensors
            .iter()
            .enumerate()
            .map(|(i, t)| (t.name.clone(), i))
            .collect();
        Ok(Self {
            path: path.to_owned(),
            map,
            metadata: header.metadata,
            tensors: header.tensors,
            tensor_index,
        })
    }

    /// The path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All bytes of the file, for hashing.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// The value of a metadata key, if the file has it.
    pub fn metadata(&self, key: &str) -> Option<&Value> {
        self.metadata.get(key)
    }

    /// Whether the file has the metadata key.
    pub fn contains(&self, key: &str) -> bool {
        self.metadata.contains_key(key)
    }

    /// A string.
    ///
    /// # Errors
    /// The key is missing or of another type.
    pub fn string(&self, key: &str) -> Result<&str, GgufError> {
        match self.required(key)? {
            Value::String(text) => Ok(text),
            other => Err(self.wrong_type(key, "a string", other)),
        }
    }

    /// An integer that is not negative, of any width.
    ///
    /// # Errors
    /// The key is missing, of another type, or negative.
    pub fn u64(&self, key: &str) -> Result<u64, GgufError> {
        let value = self.required(key)?;
        match *value {
            Value::Unsigned(n) => Some(n),
            Value::Signed(n) => u64::try_from(n).ok(),
            _ => None,
        }
        .ok_or_else(|| self.wrong_type(key, "an integer of 0 or more", value))
    }

    /// A floating-point number.
    ///
    /// # Errors
    /// The key is missing or of another type.
    pub fn f64(&self, key: &str) -> Result<f64, GgufError> {
        match self.required(key)? {
            Value::Float(x) => Ok(*x),
            other => Err(self.wrong_type(key, "a floating-point number", other)),
        }
    }

    /// A truth value.
    ///
    /// # Errors
    /// The key is missing or of another type.
    pub fn bool(&self, key: &str) -> Result<bool, GgufError> {
        match self.required(key)? {
            Value::Bool(b) => Ok(*b),
            other => Err(self.wrong_type(key, "true or false", other)),
        }
    }

    /// An array of strings.
    ///
    /// # Errors
    /// The key is missing or of another type.
    pub fn strings(&self, key: &str) -> Result<&[String], GgufError> {
        match self.required(key)? {
            Value::Array(Array::Strings(texts)) => Ok(texts),
            other => Err(self.wrong_type(key, "an array of strings", other)),
        }
    }

    /// An array of integers, of any width.
    ///
    /// # Errors
    /// The key is missing, of another type, or has a value above `i64::MAX`.
    pub fn integers(&self, key: &str) -> Result<Vec<i64>, GgufError> {
        let value = self.required(key)?;
        match value {
            Value::Array(Array::Signed(items)) => Some(items.clone()),
            Value::Array(Array::Unsigned(items)) => items.iter().map(|&n| i64::try_from(n).ok()).collect(),
            _ => None,
        }
        .ok_or_else(|| self.wrong_type(key, "an array of integers", value))
    }

    /// A view of one tensor.
    ///
    /// # Errors
    /// The file has no tensor of this name.
    pub fn tensor(&self, name: &str) -> Result<TensorView<'_>, GgufError> {
        let index = self
            .tensor_index
            .get(name)
            .ok_or_else(|| GgufError::MissingTensor {
                path: self.path.clone(),
                tensor: name.to_owned(),
            })?;
        let info = &self.tensors[*index];
        Ok(TensorView::new(info, &self.map[info.start..info.end]))
    }

    /// The names of all tensors, in file order.
    pub fn tensor_names(&self) -> impl Iterator<Item = &str> {
        self.tensors.iter().map(|info| info.name.as_str())
    }

    fn required(&self, key: &str) -> Result<&Value, GgufError> {
        self.metadata.get(key).ok_or_else(|| GgufError::MissingKey {
            path: self.path.clone(),
            key: key.to_owned(),
        })
    }

    fn wrong_type(&self, key: &str, wanted: &'static str, found: &Value) -> GgufError {
        GgufError::WrongType {
            path: self.path.clone(),
            key: key.to_owned(),
            wanted,
            found: found.describe(),
        }
    }
}

impl std::fmt::Debug for Gguf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gguf")
            .field("path", &self.path)
            .field("tensors", &self.tensors.len())
            .finish_non_exhaustive()
    }
}
