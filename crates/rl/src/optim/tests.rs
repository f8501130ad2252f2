//! AdamW against values worked out by hand.

use super::*;

const CONFIG: AdamWConfig = AdamWConfig {
    beta1: 0.9,
    beta2: 0.99,
    epsilon: 1e-8,
    weight_decay: 0.1,
};

#[test]
fn two_steps_are_what_the_formula_gives() {
    // Step 1: m = .1 g, v = .01 g²; corrected m̂ = g, v̂ = g², so p ← p(1 − .1·.01) − .01·sign(g).
    // Step 2 with g2: m = .9·.1 g + .1 g2, v = .99·.01 g² + .01 g2², corrections 1 − .81 and 1 − .9801.
    let mut parameters = [1.0_f32, -2.0];
    let mut optimizer = AdamW::new(2);
    optimizer.step(&mut parameters, &[0.5, -0.25], 0.01, &CONFIG);
    let after_one = [1.0 * 0.999 - 0.01, -2.0 * 0.999 + 0.01_f32];
    for (found, wanted) in parameters.iter().zip(after_one) {
        assert!((found - wanted).abs() < 1e-6, "{parameters:?}");
    }
    optimizer.step(&mut parameters, &[-0.1, 0.4], 0.01, &CONFIG);
    let second = |p: f64, g1: f64, g2: f64| {
        let m = (0.9 * 0.1 * g1 + 0.1 * g2) / (1.0 - 0.81);
        let v = (0.99 * 0.01 * g1 * g1 + 0.01 * g2 * g2) / (1.0 - 0.9801);
        p * 0.999 - 0.01 * m / (v.sqrt() + 1e-8)
    };
    let wanted = [second(0.989, 0.5, -0.1), second(-1.988, -0.25, 0.4)];
    for (found, wanted) in parameters.iter().zip(wanted) {
        assert!(
            (f64::from(*found) - wanted).abs() < 1e-6,
            "{parameters:?} {wanted}"
        );
    }
    assert_eq!(optimizer.steps(), 2);
}

#[test]
fn saved_state_goes_on_bit_for_bit() {
    let gradient: Vec<f32> = (0..100).map(|index| (index as f32 - 50.0) / 17.0).collect();
    let mut parameters = vec![0.5_f32; 100];
    let mut optimizer = AdamW::new(100);
    optimizer.step(&mut parameters, &gradient, 0.01, &CONFIG);
    let mut again = AdamW::from_bytes(&optimizer.to_bytes(), 100).unwrap();
    assert_eq!(again, optimizer);
    let mut others = parameters.clone();
    optimizer.step(&mut parameters, &gradient, 0.01, &CONFIG);
    again.step(&mut others, &gradient, 0.01, &CONFIG);
    assert_eq!(parameters, others);
}

#[test]
fn bytes_of_another_length_are_refused() {
    let bytes = AdamW::new(10).to_bytes();
    let error = AdamW::from_bytes(&bytes, 11).unwrap_err();
    assert_eq!(
        error,
        OptimizerError::Length {
            found: 88,
            parameters: 11,
            wanted: 96
        }
    );
    assert!(AdamW::from_bytes(&[], 0).is_err());
}

#[test]
fn clip_is_over_all_parameters_at_once() {
    let mut gradient = [3.0_f32, 4.0];
    assert_eq!(clip_global_norm(&mut gradient, 1.0), 5.0);
    assert!((gradient[0] - 0.6).abs() < 1e-7 && (gradient[1] - 0.8).abs() < 1e-7);
    assert_eq!(
        clip_global_norm(&mut [0.3_f32, 0.4], 1.0),
        f64::from(0.3_f32).hypot(f64::from(0.4_f32))
    );
}

#[test]
fn rate_rises_then_stays() {
    let schedule = |warmup_steps, decay_to| Schedule {
        peak: 1.0,
        warmup_steps,
        steps: 6,
        decay_to,
    };
    let rates = |schedule: Schedule| (1..=7).map(|step| schedule.rate(step)).collect::<Vec<_>>();
    assert_eq!(rates(schedule(2, 1.0)), [0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(rates(schedule(2, 0.0)), [0.5, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0]);
    assert_eq!(schedule(0, 0.5).rate(1), 1.0);
    assert_eq!(schedule(0, 0.5).rate(6), 0.5);
}
