//! What tests read: golden values, model files, and small GGUF files made on the spot.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::gguf::Gguf;

pub(crate) const QWEN: &str = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf";
pub(crate) const SMOLLM: &str = "smollm2-135m-instruct-q4_1.gguf";

/// Both models, with their directories of golden values.
pub(crate) const MODELS: [(&str, &str); 2] = [("qwen2.5-coder-0.5b", QWEN), ("smollm2-135m", SMOLLM)];

pub(crate) fn open_model(file: &str) -> Gguf {
    Gguf::open(&journeyman_testkit::model(file)).expect("the fetched model file is valid")
}

pub(crate) fn golden_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name)
}

/// Reads a golden JSON file; the formats are in `golden/README.md`.
pub(crate) fn golden<T: DeserializeOwned>(name: &str) -> T {
    let path = golden_path(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Writes GGUF files, valid or not.
#[derive(Default, Clone)]
pub(crate) struct GgufWriter {
    keys: Vec<(String, Vec<u8>)>,
    tensors: Vec<(String, Vec<u64>, u32, Vec<u8>)>,
}

impl GgufWriter {
    /// A value as stored: its type id and its bytes. Replaces an earlier value of the key.
    pub(crate) fn key(mut self, key: &str, type_id: u32, bytes: &[u8]) -> Self {
        self.keys.retain(|(other, _)| other != key);
        self.keys
            .push((key.to_owned(), [&type_id.to_le_bytes(), bytes].concat()));
        self
    }

    pub(crate) fn without(mut self, key: &str) -> Self {
        self.keys.retain(|(other, _)| other != key);
        self
    }

    pub(crate) fn u32(self, key: &str, value: u32) -> Self {
        self.key(key, 4, &value.to_le_bytes())
    }

    pub(crate) fn f32(self, key: &str, value: f32) -> Self {
        self.key(key, 6, &value.to_le_bytes())
    }

    pub(crate) fn string(self, key: &str, value: &str) -> Self {
        self.key(key, 8, &string_bytes(value))
    }

    pub(crate) fn strings(self, key: &str, values: &[&str]) -> Self {
        let items: Vec<u8> = values.iter().flat_map(|value| string_bytes(value)).collect();
        let header = [
            8u32.to_le_bytes().as_slice(),
            &(values.len() as u64).to_le_bytes(),
        ]
        .concat();
        self.key(key, 9, &[header, items].concat())
    }

    pub(crate) fn i32s(self, key: &str, values: &[i32]) -> Self {
        let items: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let header = [
            5u32.to_le_bytes().as_slice(),
            &(values.len() as u64).to_le_bytes(),
        ]
        .concat();
        self.key(key, 9, &[header, items].concat())
    }

    /// Dimensions fastest first.
    pub(crate) fn tensor(mut self, name: &str, dims: &[u64], type_id: u32, data: Vec<u8>) -> Self {
        self.tensors.push((name.to_owned(), dims.to_vec(), type_id, data));
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = b"GGUF".to_vec();
        out.extend(3u32.to_le_bytes());
        out.extend((self.tensors.len() as u64).to_le_bytes());
        out.extend((self.keys.len() as u64).to_le_bytes());
        for (key, value) in &self.keys {
            out.extend(string_bytes(key));
            out.extend(value);
        }
        let mut offset = 0u64;
        for (name, dims, type_id, data) in &self.tensors {
            out.extend(string_bytes(name));
            out.extend((dims.len() as u32).to_le_bytes());
            out.extend(dims.iter().flat_map(|dim| dim.to_le_bytes()));
            out.extend(type_id.to_le_bytes());
            out.extend(offset.to_le_bytes());
            offset = (offset + data.len() as u64).next_multiple_of(32);
        }
        for (_, _, _, data) in &self.tensors {
            out.resize(out.len().next_multiple_of(32), 0);
            out.extend(data);
        }
        out
    }

    /// Writes the file to a directory and opens it.
    pub(crate) fn open_in(&self, directory: &Path) -> Result<Gguf, crate::gguf::GgufError> {
        let path = directory.join("model.gguf");
        std::fs::write(&path, self.bytes()).expect("a temporary directory is writable");
        Gguf::open(&path)
    }
}

fn string_bytes(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}
