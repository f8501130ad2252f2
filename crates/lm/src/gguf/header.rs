//! Reads and checks the header of a GGUF file: metadata, tensor names, types and extents.
//!
//! Nothing is allocated on the word of a count: a count is first compared with the bytes left.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::{Array, GgufError, TensorType, Value};

/// Longest metadata key or tensor name, in bytes.
const NAME_BYTES_MAX: usize = 65_535;
/// Most elements of one metadata array; the largest vocabularies have under 300,000.
const ARRAY_LEN_MAX: u64 = 1 << 24;
/// Most dimensions of a tensor.
const DIMENSIONS_MAX: u32 = 4;
const ALIGNMENT_DEFAULT: u64 = 32;

pub(super) struct Header {
    pub(super) metadata: HashMap<String, Value>,
    /// In file order.
    pub(super) tensors: Vec<TensorInfo>,
}

/// Where a tensor lies. Checked: `start..end` is inside the file, and the row length is a
/// multiple of the type's block.
pub(super) struct TensorInfo {
    pub(super) name: String,
    pub(super) dtype: TensorType,
    /// Fastest first, as in the file.
    pub(super) dims: Vec<usize>,
    /// Bytes from the start of the file.
    pub(super) start: usize,
    pub(super) end: usize,
}

pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Header, GgufError> {
    let mut reader = Reader { path, bytes, at: 0 };
    let magic = reader.array::<4>("magic")?;
    if &magic != b"GGUF" {
        return Err(GgufError::Magic {
            path: path.to_owned(),
            found: magic.escape_ascii().to_string(),
        });
    }
    let version = reader.u32("version")?;
    if !(2..=3).contains(&version) {
        return Err(GgufError::Version {
            path: path.to_owned(),
            found: version,
        });
    }
    // A tensor takes at least 8 + 4 + 8 + 4 + 8 bytes, a key at least 8 + 4 + 1.
    let tensor_count = reader.count("tensor count", 32)?;
    let key_count = reader.count("metadata count", 13)?;

    let mut metadata = HashMap::new();
    for index in 0..key_count {
        let start = reader.at;
        let key = reader.name(&format!("key of metadata entry {index}"))?;
        let value = reader.value(&key)?;
        if metadata.insert(key.clone(), value).is_some() {
            return Err(reader.malformed(&key, start, "the key occurs twice".to_owned()));
        }
    }
    let alignment = alignment(&reader, &metadata)?;

    let mut unplaced = Vec::new();
    let mut names = HashSet::new();
    for index in 0..tensor_count {
        let start = reader.at;
        let tensor = unplaced_tensor(&mut reader, index)?;
        if !names.insert(tensor.name.clone()) {
            return Err(reader.malformed(&tensor.name, start, "the tensor occurs twice".to_owned()));
        }
        unplaced.push(tensor);
    }

    let data_start = (reader.at as u64).next_multiple_of(alignment);
    let tensors = unplaced
        .into_iter()
        .map(|tensor| place(&reader, tensor, data_start, alignment))
        .collect::<Result<_, _>>()?;
    Ok(Header { metadata, tensors })
}

fn alignment(reader: &Reader<'_>, metadata: &HashMap<String, Value>) -> Result<u64, GgufError> {
    let key = "general.alignment";
    match metadata.get(key) {
        None => Ok(ALIGNMENT_DEFAULT),
        Some(&Value::Unsigned(n)) if n.is_power_of_two() && n <= 1 << 20 => Ok(n),
        Some(other) => Err(GgufError::WrongType {
            path: reader.path.to_owned(),
            key: key.to_owned(),
            wanted: "a power of two up to 1048576",
            found: other.describe(),
        }),
    }
}

struct UnplacedTensor {
    name: String,
    dtype: TensorType,
    dims: Vec<usize>,
    size_bytes: u64,
    offset: u64,
    /// Where the offset itself is stored.
    offset_at: usize,
}

fn unplaced_tensor(reader: &mut Reader<'_>, index: u64) -> Result<UnplacedTensor, GgufError> {
    let name = reader.name(&format!("name of tensor {index}"))?;
    let at = reader.at;
    let dimensions = reader.u32(&name)?;
    if !(1..=DIMENSIONS_MAX).contains(&dimensions) {
        let reason = format!("`{dimensions}` dimensions, allowed are 1 to {DIMENSIONS_MAX}");
        return Err(reader.malformed(&name, at, reason));
    }
    let dims_at = reader.at;
    let mut dims = Vec::new();
    let mut elements: u64 = 1;
    for _ in 0..dimensions {
        let dim = reader.u64(&name)?;
        elements = elements.checked_mul(dim).filter(|&n| n > 0).ok_or_else(|| {
            let reason = format!("dimension `{dim}` is 0 or too large");
            reader.malformed(&name, dims_at, reason)
        })?;
        // Fits: it divides `elements`, which the extent check compares with the file's size.
        dims.push(dim as usize);
    }
    let type_at = reader.at;
    let type_id = reader.u32(&name)?;
    let dtype = TensorType::from_id(type_id).ok_or_else(|| GgufError::UnknownTensorType {
        path: reader.path.to_owned(),
        tensor: name.clone(),
        type_id,
        offset: type_at,
    })?;
    let block_len = dtype.block_len() as u64;
    if !(dims[0] as u64).is_multiple_of(block_len) {
        let reason = format!(
            "row length `{}` is not a multiple of {block_len}, the block of {dtype}",
            dims[0]
        );
        return Err(reader.malformed(&name, dims_at, reason));
    }
    let size_bytes = (elements / block_len)
        .checked_mul(dtype.block_bytes() as u64)
        .ok_or_else(|| reader.malformed(&name, dims_at, format!("`{elements}` elements are too many")))?;
    let offset_at = reader.at;
    let offset = reader.u64(&name)?;
    Ok(UnplacedTensor {
        name,
        dtype,
        dims,
        size_bytes,
        offset,
        offset_at,
    })
}

fn place(
    reader: &Reader<'_>,
    tensor: UnplacedTensor,
    data_start: u64,
    alignment: u64,
) -> Result<TensorInfo, GgufError> {
    let UnplacedTensor {
        name,
        dtype,
        dims,
        size_bytes,
        offset,
        offset_at,
    } = tensor;
    if !offset.is_multiple_of(alignment) {
        let reason = format!("data offset `{offset}` is not a multiple of the alignment {alignment}");
        return Err(reader.malformed(&name, offset_at, reason));
    }
    let start = data_start.checked_add(offset);
    let end = start.and_then(|start| start.checked_add(size_bytes));
    match (start, end) {
        (Some(start), Some(end)) if end <= reader.bytes.len() as u64 => Ok(TensorInfo {
            name,
            dtype,
            dims,
            start: start as usize,
            end: end as usize,
        }),
        (Some(start), _) if start <= usize::MAX as u64 => Err(GgufError::Truncated {
            path: reader.path.to_owned(),
            field: name,
            offset: start as usize,
            wanted: size_bytes,
            available: reader.bytes.len().saturating_sub(start as usize),
        }),
        _ => {
            let reason = format!("data offset `{offset}` is outside any file");
            Err(reader.malformed(&name, offset_at, reason))
        }
    }
}

struct Reader<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, field: &str, len: u64) -> Result<&'a [u8], GgufError> {
        let available = self.bytes.len() - self.at;
        if len > available as u64 {
            return Err(GgufError::Truncated {
                path: self.path.to_owned(),
                field: field.to_owned(),
                offset: self.at,
                wanted: len,
                available,
            });
        }
        let start = self.at;
        self.at += len as usize;
        Ok(&self.bytes[start..self.at])
    }

    fn array<const N: usize>(&mut self, field: &str) -> Result<[u8; N], GgufError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(field, N as u64)?);
        Ok(array)
    }

    fn u32(&mut self, field: &str) -> Result<u32, GgufError> {
        self.array(field).map(u32::from_le_bytes)
    }

    fn u64(&mut self, field: &str) -> Result<u64, GgufError> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// A count of things that each take at least `bytes_each`.
    fn count(&mut self, field: &str, bytes_each: u64) -> Result<u64, GgufError> {
        let start = self.at;
        let count = self.u64(field)?;
        let available = self.bytes.len() - self.at;
        match count.checked_mul(bytes_each) {
            Some(wanted) if wanted <= available as u64 => Ok(count),
            _ => Err(GgufError::Truncated {
                path: self.path.to_owned(),
                field: format!("{field} {count}"),
                offset: start,
                wanted: count.saturating_mul(bytes_each),
                available,
            }),
        }
    }

    fn string(&mut self, field: &str) -> Result<String, GgufError> {
        let start = self.at;
        let len = self.u64(field)?;
        let bytes = self.take(field, len)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(error) => Err(self.malformed(field, start, format!("not UTF-8: {error}"))),
        }
    }

    fn name(&mut self, field: &str) -> Result<String, GgufError> {
        let start = self.at;
        let name = self.string(field)?;
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            let reason = format!(
                "a name of {} bytes, allowed are 1 to {NAME_BYTES_MAX}",
                name.len()
            );
            return Err(self.malformed(field, start, reason));
        }
        Ok(name)
    }

    fn value(&mut self, key: &str) -> Result<Value, GgufError> {
        let start = self.at;
        let type_id = self.u32(key)?;
        Ok(match type_id {
            0 | 2 | 4 | 10 => Value::Unsigned(self.unsigned(key, type_id)?),
            1 | 3 | 5 | 11 => Value::Signed(self.signed(key, type_id)?),
            6 | 12 => Value::Float(self.float(key, type_id)?),
            7 => Value::Bool(self.bool(key)?),
            8 => Value::String(self.string(key)?),
            9 => Value::Array(self.values(key)?),
            _ => {
                let reason = format!("value type `{type_id}`, allowed are 0 to 12");
                return Err(self.malformed(key, start, reason));
            }
        })
    }

    fn values(&mut self, key: &str) -> Result<Array, GgufError> {
        let start = self.at;
        let type_id = self.u32(key)?;
        let bytes_each = match type_id {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            8 | 10..=12 => 8,
            9 => {
                let reason = "an array of arrays, which no known model uses".to_owned();
                return Err(self.malformed(key, start, reason));
            }
            _ => {
                let reason = format!("element type `{type_id}`, allowed are 0 to 12");
                return Err(self.malformed(key, start, reason));
            }
        };
        let count = self.count(key, bytes_each)?;
        if count > ARRAY_LEN_MAX {
            let reason = format!("an array of `{count}` elements, allowed are {ARRAY_LEN_MAX}");
            return Err(self.malformed(key, start, reason));
        }
        let items = 0..count;
        Ok(match type_id {
            0 | 2 | 4 | 10 => Array::Unsigned(
                items
                    .map(|_| self.unsigned(key, type_id))
                    .collect::<Result<_, _>>()?,
            ),
            1 | 3 | 5 | 11 => Array::Signed(
                items
                    .map(|_| self.signed(key, type_id))
                    .collect::<Result<_, _>>()?,
            ),
            6 | 12 => Array::Floats(
                items
                    .map(|_| self.float(key, type_id))
                    .collect::<Result<_, _>>()?,
            ),
            7 => Array::Bools(items.map(|_| self.bool(key)).collect::<Result<_, _>>()?),
            _ => Array::Strings(items.map(|_| self.string(key)).collect::<Result<_, _>>()?),
        })
    }

    fn unsigned(&mut self, key: &str, type_id: u32) -> Result<u64, GgufError> {
        Ok(match type_id {
            0 => u64::from(self.array::<1>(key)?[0]),
            2 => u64::from(u16::from_le_bytes(self.array(key)?)),
            4 => u64::from(self.u32(key)?),
            _ => self.u64(key)?,
        })
    }

    fn signed(&mut self, key: &str, type_id: u32) -> Result<i64, GgufError> {
        Ok(match type_id {
            1 => i64::from(i8::from_le_bytes(self.array(key)?)),
            3 => i64::from(i16::from_le_bytes(self.array(key)?)),
            5 => i64::from(i32::from_le_bytes(self.array(key)?)),
            _ => i64::from_le_bytes(self.array(key)?),
        })
    }

    fn float(&mut self, key: &str, type_id: u32) -> Result<f64, GgufError> {
        Ok(match type_id {
            6 => f64::from(f32::from_le_bytes(self.array(key)?)),
            _ => f64::from_le_bytes(self.array(key)?),
        })
    }

    fn bool(&mut self, key: &str) -> Result<bool, GgufError> {
        let start = self.at;
        match self.array::<1>(key)?[0] {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.malformed(key, start, format!("truth value `{other}`, allowed are 0, 1"))),
        }
    }

    fn malformed(&self, field: &str, offset: usize, reason: String) -> GgufError {
        GgufError::Malformed {
            path: self.path.to_owned(),
            field: field.escape_debug().to_string(),
            offset,
            reason,
        }
    }
}
