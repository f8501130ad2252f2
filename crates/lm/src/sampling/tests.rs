use super::{Draw, SampleError, Sampled, SamplingParams, sample};

/// Logits with probabilities .5, .25, .125, .0625, .0625 after the masked id 2 is left out.
const LOGITS: [f32; 6] = [3.0, 2.306_852_8, 50.0, 1.613_705_6, 0.920_558_5, 0.920_558_5];
const SAMPLEABLE: [bool; 6] = [true, true, false, true, true, true];
const PROBABILITIES: [f64; 6] = [0.5, 0.25, 0.0, 0.125, 0.0625, 0.0625];

fn draw<'a>(generated: &'a [u32], sample_index: u32) -> Draw<'a> {
    Draw {
        logits: &LOGITS,
        sampleable: &SAMPLEABLE,
        end_ids: &[0],
        prompt: &[3],
        generated,
        sample_index,
    }
}

fn params(seed: u64) -> SamplingParams {
    SamplingParams {
        seed,
        ..SamplingParams::default()
    }
}

/// Shares of the ids among many draws.
fn shares(params: &SamplingParams) -> [f64; 6] {
    let count = 20_000;
    let mut counts = [0_u32; 6];
    for index in 0..count {
        counts[sample(&draw(&[], index), params).unwrap().id as usize] += 1;
    }
    counts.map(|own| f64::from(own) / f64::from(count))
}

#[track_caller]
fn assert_shares(actual: [f64; 6], expected: [f64; 6]) {
    for (id, (actual, expected)) in actual.iter().zip(expected).enumerate() {
        // Four standard deviations of a share of 20,000 draws.
        let bound = 4.0 * (expected * (1.0 - expected) / 20_000.0).sqrt();
        assert!(
            (actual - expected).abs() <= bound,
            "id {id}: share {actual}, expected {expected}"
        );
    }
}

#[test]
fn draws_follow_the_softmax_and_never_a_masked_id() {
    assert_shares(shares(&params(1)), PROBABILITIES);
    // The same through the path with filters.
    assert_shares(
        shares(&SamplingParams {
            top_k: 5,
            ..params(2)
        }),
        PROBABILITIES,
    );
}

#[test]
fn temperature_two_takes_square_roots_of_probabilities() {
    let roots = PROBABILITIES.map(f64::sqrt);
    let sum: f64 = roots.iter().sum();
    assert_shares(
        shares(&SamplingParams {
            temperature: 2.0,
            ..params(3)
        }),
        roots.map(|root| root / sum),
    );
}

#[test]
fn filters_keep_the_likeliest() {
    let top_two = [2.0 / 3.0, 1.0 / 3.0, 0.0, 0.0, 0.0, 0.0];
    assert_shares(
        shares(&SamplingParams {
            top_k: 2,
            ..params(4)
        }),
        top_two,
    );
    assert_shares(
        shares(&SamplingParams {
            top_p: 0.75,
            ..params(5)
        }),
        top_two,
    );
    assert_shares(
        shares(&SamplingParams {
            min_p: 0.4,
            ..params(6)
        }),
        top_two,
    );
    // .5 + .25 is less than .76: a third one is needed.
    let top_three = [4.0 / 7.0, 2.0 / 7.0, 0.0, 1.0 / 7.0, 0.0, 0.0];
    assert_shares(
        shares(&SamplingParams {
            top_p: 0.76,
            ..params(7)
        }),
        top_three,
    );
    // Of the two equally likely ids, the lower stays.
    let top_four = [0.5, 0.25, 0.0, 0.125, 0.0625, 0.0].map(|share| share / 0.9375);
    assert_shares(
        shares(&SamplingParams {
            top_k: 4,
            ..params(8)
        }),
        top_four,
    );
}

#[test]
fn log_probability_is_raw_whatever_shapes_the_draw() {
    let shaped = SamplingParams {
        temperature: 0.5,
        top_k: 3,
        repetition_penalty: 1.3,
        presence_penalty: 0.5,
        frequency_penalty: 0.5,
        ..params(1)
    };
    for params in [params(1), shaped] {
        for index in 0..50 {
            let Sampled { id, logprob } = sample(&draw(&[1, 1], index), &params).unwrap();
            assert!((f64::from(logprob) - PROBABILITIES[id as usize].ln()).abs() < 1e-5);
        }
    }
}

#[test]
fn temperature_zero_equals_greedy_equals_top_one() {
    for params in [
        SamplingParams {
            temperature: 0.0,
            ..params(1)
        },
        SamplingParams {
            top_k: 1,
            ..params(1)
        },
        SamplingParams {
            top_k: 1,
            temperature: 3.0,
            top_p: 0.1,
            ..params(1)
        },
    ] {
        for index in 0..20 {
            assert_eq!(sample(&draw(&[], index), &params).unwrap().id, 0);
        }
    }
    // The lowest id among equals.
    let logits = [1.0, 2.0, 2.0];
    let draw = Draw {
        logits: &logits,
        sampleable: &[true; 3],
        ..draw(&[], 0)
    };
    assert_eq!(
        sample(
            &draw,
            &SamplingParams {
                temperature: 0.0,
                ..params(1)
            }
        )
        .unwrap()
        .id,
        1
    );
}

#[test]
fn draw_depends_on_seed_sample_and_position_alone() {
    let ids = |seed, index| -> Vec<u32> {
        let mut generated = Vec::new();
        for _ in 0..40 {
            generated.push(sample(&draw(&generated, index), &params(seed)).unwrap().id);
        }
        generated
    };
    assert_eq!(ids(1, 0), ids(1, 0));
    assert_ne!(ids(1, 0), ids(1, 1));
    assert_ne!(ids(1, 0), ids(2, 0));
    // The tokens before do not matter without penalties, only how many there are.
    assert_eq!(
        sample(&draw(&[1, 3, 4], 5), &params(9)),
        sample(&draw(&[0, 0, 0], 5), &params(9))
    );
}

#[test]
fn penalties_change_the_logits_of_seen_tokens() {
    // Token 3 in the prompt, 0 twice in the output.
    let drawn = |params: SamplingParams| {
        let greedy = SamplingParams {
            temperature: 0.0,
            ..params
        };
        sample(&draw(&[0, 0], 0), &greedy).unwrap().id
    };
    assert_eq!(drawn(params(1)), 0);
    assert_eq!(
        drawn(SamplingParams {
            repetition_penalty: 2.0,
            ..params(1)
        }),
        1
    );
    assert_eq!(
        drawn(SamplingParams {
            presence_penalty: 0.6,
            ..params(1)
        }),
        0
    );
    assert_eq!(
        drawn(SamplingParams {
            presence_penalty: 0.8,
            ..params(1)
        }),
        1
    );
    assert_eq!(
        drawn(SamplingParams {
            frequency_penalty: 0.4,
            ..params(1)
        }),
        1
    );
}

#[test]
fn end_token_is_held_back_until_min_tokens() {
    let params = SamplingParams {
        temperature: 0.0,
        min_tokens: 2,
        ..params(1)
    };
    assert_eq!(sample(&draw(&[], 0), &params).unwrap().id, 1);
    assert_eq!(sample(&draw(&[1], 0), &params).unwrap().id, 1);
    let last = sample(&draw(&[1, 1], 0), &params).unwrap();
    assert_eq!(last.id, 0);
    // Held back in the draw, but not in the raw distribution.
    let first = sample(&draw(&[], 0), &params).unwrap();
    assert!((first.logprob - 0.25_f32.ln()).abs() < 1e-5);
}

#[test]
fn broken_logits_are_an_error_not_token_zero() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut logits = LOGITS;
        logits[4] = value;
        let draw = Draw {
            logits: &logits,
            ..draw(&[], 0)
        };
        for params in [
            params(1),
            SamplingParams {
                temperature: 0.0,
                ..params(1)
            },
        ] {
            assert!(matches!(
                sample(&draw, &params),
                Err(SampleError::NotFinite { id: 4, .. })
            ));
        }
    }
}

#[test]
fn parameters_out_of_range_are_named() {
    let check = |params: SamplingParams| sample(&draw(&[], 0), &params).unwrap_err().to_string();
    assert_eq!(
        check(SamplingParams {
            temperature: -1.0,
            ..params(1)
        }),
        "sampling parameter `temperature` is `-1`, allowed is 0 or more"
    );
    assert_eq!(
        check(SamplingParams {
            top_p: 0.0,
            ..params(1)
        }),
        "sampling parameter `top_p` is `0`, allowed is above 0 and up to 1"
    );
    assert!(
        check(SamplingParams {
            min_p: f32::NAN,
            ..params(1)
        })
        .contains("`min_p` is `NaN`")
    );
    assert!(
        check(SamplingParams {
            repetition_penalty: 0.0,
            ..params(1)
        })
        .contains("`repetition_penalty`")
    );
    let masked = Draw {
        sampleable: &[false; 6],
        ..draw(&[], 0)
    };
    assert_eq!(sample(&masked, &params(1)), Err(SampleError::NothingLeft));
    let short = Draw {
        sampleable: &[true; 5],
        ..draw(&[], 0)
    };
    assert!(matches!(
        sample(&short, &params(1)),
        Err(SampleError::MaskLength { mask: 5, logits: 6 })
    ));
}
