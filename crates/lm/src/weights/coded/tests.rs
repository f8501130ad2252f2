use crate::fixtures::{MODELS, open_model};
use crate::host::panels::CodedColumn;

use super::{grouping, read_row};

#[test]
fn coded_rows_of_every_type_in_the_models_equal_dequantized_rows() {
    let mut types = Vec::new();
    for (_, file) in MODELS {
        let gguf = open_model(file);
        for name in gguf.tensor_names() {
            let tensor = gguf.tensor(name).unwrap();
            let Some(own) = grouping(tensor.dtype()) else {
                continue;
            };
            if !types.contains(&tensor.dtype()) {
                types.push(tensor.dtype());
            }
            for group in [own.group, 16] {
                let len = tensor.row_len();
                let (mut codes, mut scales, mut minima) =
                    (vec![0; len], vec![0.0; len / group], vec![0.0; len / group]);
                let mut values = vec![0.0; len];
                let row = tensor.rows() / 3;
                let out = CodedColumn {
                    codes: &mut codes,
                    scales: &mut scales,
                    minima: &mut minima,
                };
                read_row(&tensor, row, group, &mut values, out);
                for (index, value) in values.iter().enumerate() {
                    let group = index / group;
                    let decoded = f32::from(codes[index]) * scales[group] - minima[group];
                    assert_eq!(decoded, *value, "value {index} of row {row} of `{name}`");
                }
            }
        }
    }
    assert_eq!(types.len(), 5, "{types:?}");
}
