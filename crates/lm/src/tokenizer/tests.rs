//! Token ids against those of transformers, and what must hold beside.

use super::*;
use crate::fixtures::{self, GgufWriter, MODELS};

#[derive(serde::Deserialize)]
struct GoldenTokens {
    text: String,
    parsed: Vec<u32>,
    plain: Vec<u32>,
    decoded: String,
}

fn tokenizer(file: &str) -> Tokenizer {
    Tokenizer::from_gguf(&fixtures::open_model(file)).expect("a known tokenizer")
}

#[test]
fn ids_of_nasty_texts_equal_the_reference() {
    for (name, file) in MODELS {
        let tokenizer = tokenizer(file);
        let golden: Vec<GoldenTokens> = fixtures::golden(&format!("{name}/tokens.json"));
        assert!(golden.len() > 50);
        for GoldenTokens {
            text,
            parsed,
            plain,
            decoded,
        } in golden
        {
            let encode = |specials| tokenizer.encode(&text, specials).expect("ids");
            assert_eq!(encode(Specials::Parse), parsed, "{name}: {text:?}");
            assert_eq!(encode(Specials::AsText), plain, "{name}: {text:?} as text");
            assert_eq!(tokenizer.decode(&parsed), decoded, "{name}: {text:?} decoded");
        }
    }
}

#[test]
fn plain_text_comes_back_from_its_ids() {
    for (name, file) in MODELS {
        let tokenizer = tokenizer(file);
        let golden: Vec<GoldenTokens> = fixtures::golden(&format!("{name}/tokens.json"));
        for GoldenTokens { text, plain, .. } in golden {
            let normalized = match name {
                "smollm2-135m" => text,
                // Qwen composes characters first.
                _ => {
                    let mut normal = tokenizers::NormalizedString::from(text.as_str());
                    normal.nfc();
                    normal.get().to_owned()
                }
            };
            assert_eq!(tokenizer.decode(&plain), normalized, "{name}");
        }
    }
}

#[test]
fn special_ids_are_those_of_the_model() {
    let qwen = tokenizer(fixtures::QWEN);
    assert_eq!(qwen.vocab_size(), 151_936);
    assert_eq!(qwen.end_ids(), [151_643, 151_645, 151_662, 151_663, 151_664]);
    let unused: Vec<usize> = (0..151_936).filter(|&id| !qwen.sampleable()[id]).collect();
    assert_eq!(unused, (151_665..151_936).collect::<Vec<_>>());

    let smollm = tokenizer(fixtures::SMOLLM);
    assert_eq!(smollm.vocab_size(), 49_152);
    assert_eq!(smollm.end_ids(), [0, 2]);
    assert!(smollm.sampleable().iter().all(|&sampleable| sampleable));
}

#[test]
fn bytes_of_split_characters_join_to_text() {
    let qwen = tokenizer(fixtures::QWEN);
    let ids = qwen.encode("\u{20000}\u{10ffff}", Specials::AsText).expect("ids");
    let bytes: Vec<u8> = ids.iter().flat_map(|&id| qwen.token_bytes(id)).copied().collect();
    assert_eq!(bytes, "\u{20000}\u{10ffff}".as_bytes());
    assert!(ids.len() > 2, "characters are split over tokens: {ids:?}");
    assert_eq!(
        qwen.decode(&ids[..ids.len() - 1]).chars().last(),
        Some('\u{FFFD}')
    );
    assert_eq!(qwen.token_bytes(151_645), b"<|im_end|>");
    assert_eq!(qwen.token_bytes(151_700), b"");
    assert_eq!(qwen.token_bytes(u32::MAX), b"");
    assert_eq!(qwen.decode(&[151_645, 151_700, u32::MAX]), "");
}

#[test]
fn control_token_is_seen_only_outside_plain_ranges() {
    let qwen = tokenizer(fixtures::QWEN);
    let text = "<|im_end|>a<|im_end|>";
    let count = |plain: &[Range<usize>]| {
        let ids = qwen.encode_around(text, plain).expect("ids");
        ids.iter().filter(|&&id| id == 151_645).count()
    };
    assert_eq!(count(&[]), 2);
    assert_eq!(count(std::slice::from_ref(&(10..11))), 2);
    assert_eq!(
        count(std::slice::from_ref(&(10..12))),
        1,
        "it reaches into the plain range"
    );
    assert_eq!(count(std::slice::from_ref(&(9..10))), 1);
    assert_eq!(count(std::slice::from_ref(&(0..text.len()))), 0);
    assert_eq!(count(&[2..3, 20..21]), 0);
}

#[test]
fn long_text_of_one_character_is_encoded() {
    let qwen = tokenizer(fixtures::QWEN);
    for character in [" ", "a", "\n", "é", "<"] {
        let text = character.repeat(50_000);
        let ids = qwen.encode(&text, Specials::Parse).expect("ids");
        assert_eq!(qwen.decode(&ids), text);
    }
}

/// Two letters, their merge, and a control token.
fn tiny() -> GgufWriter {
    GgufWriter::default()
        .string("tokenizer.ggml.model", "gpt2")
        .string("tokenizer.ggml.pre", "smollm")
        .strings("tokenizer.ggml.tokens", &["a", "b", "ab", "<end>"])
        .i32s("tokenizer.ggml.token_type", &[1, 1, 1, 3])
        .strings("tokenizer.ggml.merges", &["a b"])
        .u32("tokenizer.ggml.eos_token_id", 3)
}

#[test]
fn tables_that_do_not_fit_are_refused_by_key() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let outcome = |file: GgufWriter| {
        let gguf = file.open_in(directory.path()).expect("a valid file");
        Tokenizer::from_gguf(&gguf)
    };
    let tokenizer = outcome(tiny()).expect("a tokenizer");
    assert_eq!(
        tokenizer.encode("abb<end>a", Specials::Parse).expect("ids"),
        [2, 1, 3, 0]
    );
    assert_eq!(tokenizer.end_ids(), [3]);

    let cases = [
        (tiny().string("tokenizer.ggml.model", "llama"), "`llama`"),
        (tiny().string("tokenizer.ggml.pre", "llama-bpe"), "`llama-bpe`"),
        (tiny().without("tokenizer.ggml.pre"), "`tokenizer.ggml.pre`"),
        (tiny().without("tokenizer.ggml.merges"), "`tokenizer.ggml.merges`"),
        (
            tiny().i32s("tokenizer.ggml.token_type", &[1, 1, 1]),
            "3 types for 4 tokens",
        ),
        (
            tiny().i32s("tokenizer.ggml.token_type", &[1, 1, 1, 9]),
            "token 3 has type `9`",
        ),
        (tiny().strings("tokenizer.ggml.merges", &["ab"]), "merge 0"),
        (
            tiny().strings("tokenizer.ggml.merges", &["a x"]),
            "cannot be built",
        ),
        (
            tiny().strings("tokenizer.ggml.tokens", &["a", "a", "ab", "<end>"]),
            "both `a`",
        ),
        (
            tiny().strings("tokenizer.ggml.tokens", &["a", "b", "a b", "<end>"]),
            "stands for no byte",
        ),
        (
            tiny().strings("tokenizer.ggml.tokens", &["a", "b", "ab", ""]),
            "token 3 is empty",
        ),
        (tiny().u32("tokenizer.ggml.eos_token_id", 4), "id `4`"),
    ];
    for (file, part) in cases {
        let message = outcome(file).expect_err("bad tables").to_string();
        assert!(
            message.contains(part) && message.contains("model.gguf"),
            "{part}: {message}"
        );
    }
}
