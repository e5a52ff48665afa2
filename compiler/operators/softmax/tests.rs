//! Softmax of floats against the formula; integers against floats.

use super::{log_softmax, narrow, softmax, wide};
use crate::ir::interpret::Interpreter;
use crate::ir::{ElementType, Module, Value};
use crate::operators::testing::{Floats, run_with};
use crate::operators::{Error, Graph};

fn reference(row: &[f32], beta: f32) -> Vec<f32> {
    let sum: f32 = row.iter().map(|x| (x * beta).exp()).sum();
    row.iter().map(|x| (x * beta).exp() / sum).collect()
}

fn near(found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance, "{found} instead of {expected}");
    }
}

#[test]
fn rows_of_floats_add_up_to_one() {
    let input = Floats::varied(&[2, 5]);
    let expected: Vec<f32> = input.numbers.chunks(5).flat_map(|row| reference(row, 0.5)).collect();
    for open in [&[][..], &[[0, 0]], &[[0, 1]]] {
        let found = run_with(&[&input], open, &|g, v| softmax(g, v[0], &[1], 0.5, ElementType::F32));
        near(&found.numbers, &expected, 1e-6);
    }
}

#[test]
fn logarithms_are_those_of_the_softmax() {
    let input = Floats::varied(&[2, 5]);
    let expected: Vec<f32> = input.numbers.chunks(5).flat_map(|row| reference(row, 1.0)).map(f32::ln).collect();
    let found = run_with(&[&input], &[[0, 0]], &|g, v| log_softmax(g, v[0], &[1]));
    near(&found.numbers, &expected, 1e-5);
}

/// The integers that an operator makes of a row.
fn integers(element: ElementType, bytes: Vec<u8>, build: impl FnOnce(&mut Graph<'_>, Value) -> Result<Value, Error>) -> Vec<u8> {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let count = bytes.len() as u64 * 8 / u64::from(element.bits());
    let x = g.constant(element, &[1, count], bytes).unwrap();
    let result = build(&mut g, x).unwrap();
    let function = g.finish(vec![result]);
    Interpreter::new(&module).run_function(function, &[], None).unwrap()[0].bytes.clone()
}

#[test]
fn integers_of_eight_bits_follow_the_floats() {
    let row = [-20i8, 0, 7, 30];
    let real: Vec<f32> = row.iter().map(|&n| f32::from(n) * 0.1).collect();
    let bytes: Vec<u8> = row.iter().map(|&n| n as u8).collect();
    let found = integers(ElementType::I8, bytes.clone(), |g, x| narrow::softmax(g, x, 0.1, 1.0, ElementType::I8));
    let found: Vec<f32> = found.iter().map(|&n| (f32::from(n as i8) + 128.0) / 256.0).collect();
    near(&found, &reference(&real, 1.0), 0.006);
    let found = integers(ElementType::I8, bytes, |g, x| narrow::log_softmax(g, x, 0.1));
    let found: Vec<f32> = found.iter().map(|&n| (f32::from(n as i8) - 127.0) / 16.0).collect();
    let expected: Vec<f32> = reference(&real, 1.0).into_iter().map(f32::ln).collect();
    near(&found, &expected, 0.07);
}

#[test]
fn integers_of_sixteen_bits_follow_the_floats() {
    let row = [-2000i16, 0, 700, 3000];
    let real: Vec<f32> = row.iter().map(|&n| f32::from(n) * 0.001).collect();
    let bytes = row.iter().flat_map(|n| n.to_le_bytes()).collect();
    let found = integers(ElementType::I16, bytes, |g, x| wide::softmax(g, x, 0.001, 1.0));
    let found: Vec<f32> = found.chunks(2).map(|b| f32::from(i16::from_le_bytes([b[0], b[1]])) / 32768.0).collect();
    near(&found, &reference(&real, 1.0), 1e-3);
}

#[test]
fn differences_too_small_to_be_seen_vanish() {
    // Untrained networks: every element has its share, whatever it is.
    for scale in [1.0 / (1 << 26) as f32, 1e-12, 1e-42] {
        let found = integers(ElementType::I8, vec![0, 127, 128], |g, x| narrow::softmax(g, x, scale, 1.0, ElementType::I8));
        assert_eq!(found.iter().map(|&b| b as i8).collect::<Vec<_>>(), [-43; 3], "{scale}");
        let found = integers(ElementType::I8, vec![0, 127, 128], |g, x| narrow::log_softmax(g, x, scale));
        assert_eq!(found.iter().map(|&b| b as i8).collect::<Vec<_>>(), [109; 3], "{scale}");
    }
}

#[test]
fn scales_that_are_no_number_are_refused() {
    for beta in [-1.0, f32::INFINITY] {
        let mut module = Module::default();
        let mut g = Graph::new(&mut module, "f");
        let x = g.constant(ElementType::I8, &[1, 2], vec![0; 2]).unwrap();
        let refused = narrow::softmax(&mut g, x, 1e-12, beta, ElementType::I8);
        assert_eq!(refused, Err(Error::ScaleTimesBeta { scale: 1e-12, beta }));
    }
}

/// The integers that the reference gives for a row: gemmlowp's functions, one after the other.
fn reference_of_integers(row: &[i32], factor: f64, output_bits: i32) -> Vec<i32> {
    use crate::operators::fixed_point::{divide_by_power_of_two, exp_of_negative, multiply_high};
    let multiplier = crate::operators::quantization::Multiplier::from_real(factor * f64::from(1 << 26)).unwrap();
    let smallest = -((31.0 * f64::from(1 << 26) / (1u64 << multiplier.shift) as f64) as i32);
    let largest = *row.iter().max().unwrap();
    let power = |x: i32| match x - largest {
        difference if difference < smallest => 0,
        difference => exp_of_negative(multiply_high(difference << multiplier.shift, multiplier.mantissa)),
    };
    let sum = row.iter().fold(0i32, |sum, &x| sum.wrapping_add(divide_by_power_of_two(power(x), 12)));
    let headroom = sum.leading_zeros();
    let fraction = (i64::from(sum as u32) << headroom) - (1 << 31);
    let half = ((fraction + i64::from(i32::MAX) + 1) / 2) as i32;
    let mut estimate = 1_515_870_810 + multiply_high(half, -1_010_580_540);
    for _ in 0..3 {
        let correction = multiply_high(estimate, (1 << 29) - multiply_high(half, estimate));
        estimate += (i64::from(correction) << 2).clamp(i32::MIN.into(), i32::MAX.into()) as i32;
    }
    let scale = (i64::from(estimate) << 1).min(i32::MAX.into()) as i32;
    let exponent = 12 - headroom as i32 + 31 - output_bits;
    let lowest = -(1 << (output_bits - 1));
    let result = |&x: &i32| divide_by_power_of_two(multiply_high(scale, power(x)), exponent as u32) + lowest;
    row.iter().map(|x| result(x).min(-lowest - 1)).collect()
}

/// All differences, rows of many lengths, and rows so long and even that every result is 0.
#[test]
fn integers_of_eight_bits_are_those_of_the_reference() {
    let mut state = 1u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut rows: Vec<Vec<i8>> = vec![(-128..=127).collect(), vec![127], vec![-128; 600], vec![5; 2100], vec![-128, 127]];
    rows.extend((0..250).map(|difference| vec![120, 120i8.wrapping_sub(difference as u8 as i8).min(120)]));
    for _ in 0..200 {
        let (length, spread) = (1 + random(70), 1 + random(255));
        rows.push((0..length).map(|_| (127 - random(spread) as i64) as i8).collect());
    }
    for scale in [0.001f32, 0.0235, 0.1, 0.9, 20.0] {
        for row in &rows {
            let wide: Vec<i32> = row.iter().map(|&x| x.into()).collect();
            for (element, output) in
                [(ElementType::I8, ElementType::I8), (ElementType::I8, ElementType::I16), (ElementType::U8, ElementType::I8)]
            {
                let flip = if element == ElementType::U8 { 0x80 } else { 0 };
                let bytes = row.iter().map(|&x| x as u8 ^ flip).collect();
                let found = integers(element, bytes, |g, x| narrow::softmax(g, x, scale, 1.0, output));
                let bits = output.bits();
                let found: Vec<i32> = match bits {
                    8 => found.iter().map(|&x| i32::from(x as i8)).collect(),
                    _ => found.chunks(2).map(|x| i32::from(i16::from_le_bytes([x[0], x[1]]))).collect(),
                };
                assert_eq!(found, reference_of_integers(&wide, scale.into(), bits as i32), "{scale} {element} {output} {row:?}");
            }
        }
    }
}

/// The shorter form of the reciprocal is the reference's for fractions from 0 on.
#[test]
fn fractions_have_the_reciprocals_of_the_reference() {
    use crate::operators::fixed;
    use crate::operators::terms::Terms;
    let edges = (0..31).flat_map(|bit| [(1i32 << bit) - 1, 1 << bit, (1 << bit) + 1]);
    let fractions: Vec<i32> = edges.chain((0..60_000).map(|i| i * 35_791)).chain([i32::MAX]).collect();
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let x = g.constant(ElementType::I32, &[fractions.len() as u64], fractions.iter().flat_map(|x| x.to_le_bytes()).collect()).unwrap();
    let mut terms = Terms::new(&[ElementType::I32]);
    let fraction = terms.input(0);
    let both = [fixed::one_over_one_plus(&mut terms, fraction).unwrap(), fixed::one_over_one_plus_fraction(&mut terms, fraction).unwrap()];
    let results = g.map_many(&[x], terms.finish_many(both.to_vec())).unwrap();
    let function = g.finish(results);
    let results = Interpreter::new(&module).run_function(function, &[], None).unwrap();
    assert_eq!(results[0].bytes, results[1].bytes);
}
