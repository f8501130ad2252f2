//! Block decoders against golden values, and files that are whole, damaged, or lie.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::*;
use crate::fixtures::{self, GgufWriter};

#[derive(serde::Deserialize)]
struct GoldenBlocks {
    r#type: String,
    bytes: String,
    values: String,
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .map(|c| c.to_digit(16).expect("a hex digit") as u8)
        .collect();
    digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect()
}

/// Bits, so that two NaN would be equal and two zeros not.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn golden_blocks() -> Vec<(TensorType, Vec<u8>, Vec<f32>)> {
    let golden: Vec<GoldenBlocks> = fixtures::golden("blocks.json");
    let types: Vec<TensorType> = (0..64).filter_map(TensorType::from_id).collect();
    assert_eq!(golden.len(), types.len(), "a golden case for every type");
    golden
        .into_iter()
        .map(|case| {
            let dtype = *types
                .iter()
                .find(|t| t.to_string() == case.r#type)
                .expect("a known type");
            let values = unhex(&case.values);
            let values = values
                .as_chunks::<4>()
                .0
                .iter()
                .map(|b| f32::from_le_bytes(*b))
                .collect();
            (dtype, unhex(&case.bytes), values)
        })
        .collect()
}

fn id_of(dtype: TensorType) -> u32 {
    (0..64)
        .find(|&id| TensorType::from_id(id) == Some(dtype))
        .expect("every type has an id")
}

#[test]
fn every_block_type_decodes_to_reference_bits() {
    for (dtype, bytes, expected) in golden_blocks() {
        let mut values = vec![0.0; expected.len()];
        dtype.dequantize(&bytes, &mut values);
        assert_eq!(bits(&values), bits(&expected), "{dtype}");
    }
}

#[test]
fn every_way_to_read_a_tensor_gives_the_same_values() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (dtype, bytes, values) in golden_blocks() {
        // 131 rows, so that tiles of 64 rows end with a rest; two blocks (or more) a row.
        let row_len = (2 * dtype.block_len()).max(96) / dtype.block_len() * dtype.block_len();
        let rows = 131;
        let blocks = rows * row_len / dtype.block_len();
        let block = |i: usize| i * 7 % (bytes.len() / dtype.block_bytes());
        let data: Vec<u8> = (0..blocks)
            .flat_map(|i| &bytes[block(i) * dtype.block_bytes()..][..dtype.block_bytes()])
            .copied()
            .collect();
        let expected: Vec<f32> = (0..blocks)
            .flat_map(|i| &values[block(i) * dtype.block_len()..][..dtype.block_len()])
            .copied()
            .collect();

        let gguf = GgufWriter::default()
            .tensor("t", &[row_len as u64, rows as u64], id_of(dtype), data)
            .open_in(directory.path())
            .expect("a valid file");
        let tensor = gguf.tensor("t").expect("the tensor");
        assert_eq!((tensor.rows(), tensor.row_len()), (rows, row_len));
        assert_eq!(bits(&tensor.dequantize()), bits(&expected), "{dtype}");

        let transposed = tensor.dequantize_transposed();
        let mut row = vec![0.0; row_len];
        for r in 0..rows {
            tensor.dequantize_row(r, &mut row);
            assert_eq!(
                bits(&row),
                bits(&expected[r * row_len..][..row_len]),
                "{dtype} row {r}"
            );
            let column: Vec<f32> = (0..row_len).map(|c| transposed[c * rows + r]).collect();
            assert_eq!(bits(&row), bits(&column), "{dtype} transposed {r}");
        }
    }
}

/// One of each: value types, array types, tensors of one and two dimensions.
fn small_file() -> GgufWriter {
    GgufWriter::default()
        .string("general.architecture", "llama")
        .key("u8", 0, &[7])
        .key("i8", 1, &[0xFF])
        .key("u16", 2, &300u16.to_le_bytes())
        .key("i16", 3, &(-300i16).to_le_bytes())
        .u32("u32", 70_000)
        .key("i32", 5, &(-70_000i32).to_le_bytes())
        .f32("f32", 0.5)
        .key("bool", 7, &[1])
        .key("u64", 10, &(1u64 << 40).to_le_bytes())
        .key("i64", 11, &(-(1i64 << 40)).to_le_bytes())
        .key("f64", 12, &0.1f64.to_le_bytes())
        .strings("strings", &["a", "", "naïve"])
        .i32s("i32s", &[1, -2, 3])
        .tensor(
            "vector",
            &[3],
            0,
            [1.0f32, 2.0, 3.0].iter().flat_map(|x| x.to_le_bytes()).collect(),
        )
        .tensor("matrix", &[32, 2], 8, vec![0x11; 68])
        .tensor("blocks", &[256], 14, vec![0x22; 210])
}

#[test]
fn values_of_every_type_are_read() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let gguf = small_file().open_in(directory.path()).expect("a valid file");
    assert_eq!(gguf.string("general.architecture").expect("string"), "llama");
    assert_eq!(gguf.u64("u8").expect("u8"), 7);
    assert_eq!(gguf.metadata("i8"), Some(&Value::Signed(-1)));
    assert_eq!(gguf.u64("u16").expect("u16"), 300);
    assert_eq!(gguf.metadata("i16"), Some(&Value::Signed(-300)));
    assert_eq!(gguf.u64("u32").expect("u32"), 70_000);
    assert_eq!(gguf.metadata("i32"), Some(&Value::Signed(-70_000)));
    assert_eq!(gguf.f64("f32").expect("f32"), 0.5);
    assert!(gguf.bool("bool").expect("bool"));
    assert_eq!(gguf.u64("u64").expect("u64"), 1 << 40);
    assert_eq!(gguf.metadata("i64"), Some(&Value::Signed(-(1 << 40))));
    assert_eq!(gguf.f64("f64").expect("f64"), 0.1);
    assert_eq!(gguf.strings("strings").expect("strings"), ["a", "", "naïve"]);
    assert_eq!(gguf.integers("i32s").expect("i32s"), [1, -2, 3]);
    assert_eq!(
        gguf.tensor_names().collect::<Vec<_>>(),
        ["vector", "matrix", "blocks"]
    );
    assert_eq!(
        gguf.tensor("vector").expect("tensor").dequantize(),
        [1.0, 2.0, 3.0]
    );
    assert_eq!(gguf.tensor("matrix").expect("tensor").dims(), [32, 2]);
}

#[test]
fn wrong_key_or_tensor_is_named() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let gguf = small_file().open_in(directory.path()).expect("a valid file");
    let message = gguf.u64("none").expect_err("missing").to_string();
    assert!(
        message.contains("model.gguf") && message.contains("`none`"),
        "{message}"
    );
    let message = gguf.u64("i8").expect_err("negative").to_string();
    assert!(message.contains("`i8`") && message.contains("`-1`"), "{message}");
    let message = gguf.string("u32").expect_err("not a string").to_string();
    assert!(
        message.contains("`70000`") && message.contains("a string"),
        "{message}"
    );
    let message = gguf.tensor("none").err().expect("missing").to_string();
    assert!(message.contains("no tensor `none`"), "{message}");
}

fn open_bytes(directory: &Path, bytes: &[u8]) -> Result<Gguf, GgufError> {
    let path = directory.join("damaged.gguf");
    std::fs::write(&path, bytes).expect("a temporary directory is writable");
    Gguf::open(&path)
}

#[test]
fn file_cut_anywhere_is_refused_with_its_path() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let bytes = small_file().bytes();
    for len in 0..bytes.len() {
        let error = open_bytes(directory.path(), &bytes[..len]).expect_err("a truncated file");
        assert!(error.to_string().contains("damaged.gguf"), "{len}: {error}");
    }
    open_bytes(directory.path(), &bytes).expect("the whole file");
}

#[test]
fn file_with_any_byte_changed_is_read_or_refused_without_panic() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let bytes = small_file().bytes();
    for at in 0..bytes.len() {
        for change in [0x01, 0x80, 0xFF, bytes[at], !bytes[at]] {
            let mut damaged = bytes.clone();
            damaged[at] ^= change;
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                let Ok(gguf) = open_bytes(directory.path(), &damaged) else {
                    return;
                };
                for name in gguf.tensor_names() {
                    let tensor = gguf.tensor(name).expect("a listed tensor");
                    assert_eq!(tensor.dequantize().len(), tensor.dequantize_transposed().len());
                }
            }));
            assert!(outcome.is_ok(), "byte {at} changed by {change:#x}");
        }
    }
}

#[test]
fn count_beyond_the_file_is_refused_before_memory_is_taken() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let bytes = small_file().bytes();
    for (at, field) in [(8, "tensor count"), (16, "metadata count")] {
        let mut damaged = bytes.clone();
        damaged[at..at + 8].copy_from_slice(&(u64::MAX / 3).to_le_bytes());
        let message = open_bytes(directory.path(), &damaged)
            .expect_err("a huge count")
            .to_string();
        assert!(
            message.contains(field) && message.contains(&format!("byte {at}")),
            "{message}"
        );
    }
    let huge = [8u32.to_le_bytes().as_slice(), &u64::MAX.to_le_bytes()].concat();
    let message = GgufWriter::default()
        .key("tokens", 9, &huge)
        .open_in(directory.path())
        .expect_err("a huge array")
        .to_string();
    assert!(message.contains("`tokens"), "{message}");
}

#[test]
fn lying_tensor_is_refused_by_name() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let refused = |dims: &[u64], type_id: u32| {
        GgufWriter::default()
            .tensor("blk.0.ffn", dims, type_id, vec![0; 64])
            .open_in(directory.path())
            .expect_err("a lying tensor")
    };
    for (dims, type_id, part) in [
        (&[32u64][..], 99, "type 99"),
        (&[32], 4, "type 4"),
        (&[33], 8, "not a multiple of 32"),
        (&[0], 0, "0 or too large"),
        (&[1 << 40, 1 << 40], 0, "too large"),
        (&[17], 0, "takes 68 bytes"),
        (&[1, 1, 1, 1, 1], 0, "`5` dimensions"),
        (&[], 0, "`0` dimensions"),
    ] {
        let message = refused(dims, type_id).to_string();
        assert!(
            message.contains("`blk.0.ffn`") && message.contains(part),
            "{dims:?}: {message}"
        );
    }
    let twice = GgufWriter::default()
        .tensor("t", &[1], 0, vec![0; 4])
        .tensor("t", &[1], 0, vec![0; 4]);
    let message = twice.open_in(directory.path()).expect_err("twice").to_string();
    assert!(message.contains("`t`") && message.contains("twice"), "{message}");
}

#[test]
fn other_file_is_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let message = open_bytes(directory.path(), b"PK\x03\x04 a wheel")
        .expect_err("a zip")
        .to_string();
    assert!(
        message.contains("not a GGUF file") && message.contains(r"PK\x03\x04"),
        "{message}"
    );

    let mut big_endian = small_file().bytes();
    big_endian[4..8].copy_from_slice(&3u32.to_be_bytes());
    let message = open_bytes(directory.path(), &big_endian)
        .expect_err("big endian")
        .to_string();
    assert!(message.contains("little endian"), "{message}");

    assert!(matches!(
        Gguf::open(directory.path()),
        Err(GgufError::Open { .. })
    ));
    assert!(matches!(
        Gguf::open(&directory.path().join("none")),
        Err(GgufError::Open { .. })
    ));
}

#[test]
fn model_files_have_the_tensors_they_should() {
    let qwen = fixtures::open_model(fixtures::QWEN);
    assert_eq!(qwen.tensor_names().count(), 291);
    let head = qwen.tensor("output.weight").expect("the head");
    assert_eq!(
        (head.dtype(), head.dims()),
        (TensorType::Q8_0, [896, 151_936].as_slice())
    );
    let smollm = fixtures::open_model(fixtures::SMOLLM);
    assert_eq!(smollm.tensor_names().count(), 272);
    assert!(smollm.tensor("output.weight").is_err(), "tied to the embedding");
}
