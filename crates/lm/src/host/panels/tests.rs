use super::{CodedColumn, Panels, Target, View};

/// A repeatable value in -1..1.
fn value(index: usize) -> f32 {
    ((index.wrapping_mul(2_654_435_761) >> 7) % 2001) as f32 / 1000.0 - 1.0
}

fn product(rows: &[f32], weight: &[f32], n: usize, k: usize, m: usize) -> Vec<f32> {
    let mut out = vec![0.0; n * m];
    for i in 0..n {
        for j in 0..m {
            let sum: f64 = (0..k)
                .map(|p| f64::from(rows[i * k + p]) * f64::from(weight[j * k + p]))
                .sum();
            out[i * m + j] = sum as f32;
        }
    }
    out
}

#[track_caller]
fn check(actual: &[f32], expected: &[f32]) {
    for (index, (actual, expected)) in actual.iter().zip(expected).enumerate() {
        assert!(
            (actual - expected).abs() < 1e-4,
            "element {index}: {actual} is not {expected}"
        );
    }
}

fn multiply(panels: &Panels, rows: &[f32], n: usize, k: usize, m: usize) -> Vec<f32> {
    let mut out = vec![0.0; n * m];
    panels.multiply(
        View {
            values: rows,
            rows: n,
            stride: k,
        },
        Target {
            values: &mut out,
            stride: m,
            offset: 0,
            add: false,
        },
    );
    out
}

#[test]
fn product_of_odd_shapes_equals_plain_sum() {
    for (n, k, m) in [
        (1, 1, 1),
        (5, 33, 17),
        (7, 300, 40),
        (100, 520, 130),
        (203, 64, 16),
    ] {
        let rows: Vec<f32> = (0..n * k).map(value).collect();
        let weight: Vec<f32> = (0..m * k).map(|index| value(index + 77)).collect();
        let panels = Panels::float(k, m, |column, out| {
            out.copy_from_slice(&weight[column * k..(column + 1) * k])
        });
        check(
            &multiply(&panels, &rows, n, k, m),
            &product(&rows, &weight, n, k, m),
        );

        let mut transposed = vec![0.0; m * k];
        for j in 0..m {
            for p in 0..k {
                transposed[p * m + j] = weight[j * k + p];
            }
        }
        let back: Vec<f32> = (0..n * m).map(value).collect();
        check(
            &multiply(&panels.transposed(), &back, n, m, k),
            &product(&back, &transposed, n, m, k),
        );
    }
}

#[test]
fn product_of_coded_weight_equals_its_decoded_form() {
    let (n, k, m, group) = (9, 288, 50, 32);
    let code = |index: usize| (index % 31) as i8 - 15;
    for with_minima in [false, true] {
        let scale = |index: usize| 0.01 + value(index) * 0.001;
        let minimum = |index: usize| if with_minima { value(index + 5) } else { 0.0 };
        let panels = Panels::coded(
            k,
            m,
            group,
            with_minima,
            |column,
             CodedColumn {
                 codes,
                 scales,
                 minima,
             }| {
                for (index, out) in codes.iter_mut().enumerate() {
                    *out = code(column * k + index);
                }
                for (index, (scales, minima)) in scales.iter_mut().zip(minima).enumerate() {
                    *scales = scale(column * k / group + index);
                    *minima = minimum(column * k / group + index);
                }
            },
        );
        let weight: Vec<f32> = (0..m * k)
            .map(|index| f32::from(code(index)) * scale(index / group) - minimum(index / group))
            .collect();
        let rows: Vec<f32> = (0..n * k).map(value).collect();
        check(
            &multiply(&panels, &rows, n, k, m),
            &product(&rows, &weight, n, k, m),
        );
    }
}

#[test]
fn row_of_a_batch_equals_row_alone_to_the_bit() {
    let (k, m) = (700, 320);
    let weight: Vec<f32> = (0..m * k).map(|index| value(index + 3)).collect();
    let panels = Panels::float(k, m, |column, out| {
        out.copy_from_slice(&weight[column * k..(column + 1) * k])
    });
    let rows: Vec<f32> = (0..200 * k).map(value).collect();
    let batch = multiply(&panels, &rows, 200, k, m);
    for row in [0, 5, 100, 199] {
        let alone = multiply(&panels, &rows[row * k..(row + 1) * k], 1, k, m);
        assert_eq!(alone, batch[row * m..(row + 1) * m]);
    }
}

#[test]
fn target_with_offset_is_added_to_in_its_columns_only() {
    let (n, k, m) = (3, 20, 5);
    let weight: Vec<f32> = (0..m * k).map(value).collect();
    let panels = Panels::float(k, m, |column, out| {
        out.copy_from_slice(&weight[column * k..(column + 1) * k])
    });
    let rows: Vec<f32> = (0..n * k).map(value).collect();
    let mut out = vec![1.0; n * 9];
    panels.multiply(
        View {
            values: &rows,
            rows: n,
            stride: k,
        },
        Target {
            values: &mut out,
            stride: 9,
            offset: 2,
            add: true,
        },
    );
    let expected = product(&rows, &weight, n, k, m);
    for row in 0..n {
        assert_eq!(out[row * 9..row * 9 + 2], [1.0, 1.0]);
        assert_eq!(out[row * 9 + 7..row * 9 + 9], [1.0, 1.0]);
        for column in 0..m {
            assert!((out[row * 9 + 2 + column] - 1.0 - expected[row * m + column]).abs() < 1e-4);
        }
    }
}
