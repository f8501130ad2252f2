//! Tests of `output`.

use super::*;

fn nonce() -> Nonce {
    Nonce("00112233445566778899aabbccddeeff".to_owned())
}

fn lines(words: &[&str]) -> Vec<u8> {
    words
        .iter()
        .map(|word| format!("{} {word}\n", nonce().0))
        .collect::<String>()
        .into_bytes()
}

fn count(output: &[u8]) -> u32 {
    count_markers(
        output,
        &nonce(),
        &[Marker::Imported, Marker::LoadedData, Marker::TrainedModel],
    )
}

#[test]
fn markers_count_once_and_in_order() {
    assert_eq!(count(&lines(&["imported", "loaded_data", "trained_model"])), 3);
    assert_eq!(
        count(&lines(&[
            "imported",
            "imported",
            "loaded_data",
            "loaded_data",
            "imported"
        ])),
        2
    );
    assert_eq!(count(&lines(&["trained_model", "loaded_data", "imported"])), 1);
    assert_eq!(count(b""), 0);
}

#[test]
fn marker_that_is_left_out_does_not_cost_the_later_ones() {
    assert_eq!(count(&lines(&["imported", "trained_model"])), 2);
}

#[test]
fn marker_that_was_not_put_in_does_not_count() {
    assert_eq!(count(&lines(&["imported", "wrote_submission"])), 1);
    assert_eq!(count_markers(&lines(&["imported"]), &nonce(), &[]), 0);
}

#[test]
fn forged_markers_do_not_count() {
    for forged in [
        "imported\n",
        "ffffffffffffffffffffffffffffffff imported\n",
        "00112233445566778899aabbccddeeff  imported\n",
        " 00112233445566778899aabbccddeeff imported\n",
        "00112233445566778899aabbccddeeff imported and more\n",
        "00112233445566778899AABBCCDDEEFF imported\n",
        "x00112233445566778899aabbccddeeff imported\n",
    ] {
        assert_eq!(count(forged.as_bytes()), 0, "{forged:?}");
    }
}

#[test]
fn output_is_kept_without_markers() {
    let output = format!("start\n{0} imported\nno break{0} loaded_data\nend", nonce().0);
    assert_eq!(
        without_markers(output.as_bytes(), &nonce(), 4096),
        "start\nno break\nend"
    );
    assert_eq!(without_markers(b"\xff\n", &nonce(), 4096), "\u{fffd}\n");
}

#[test]
fn long_output_keeps_head_and_tail() {
    let output = format!("head {} tail", "é".repeat(5000));
    let kept = without_markers(output.as_bytes(), &nonce(), 101);
    assert!(kept.starts_with("head é") && kept.ends_with("é tail"), "{kept}");
    assert!(kept.contains("bytes left out") && kept.len() < 160, "{kept}");
}
