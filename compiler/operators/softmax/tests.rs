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
    for open in [&[][..], &[(0, 0)], &[(0, 1)]] {
        let found = run_with(&[&input], open, &|g, v| softmax(g, v[0], &[1], 0.5, ElementType::F32));
        near(&found.numbers, &expected, 1e-6);
    }
}

#[test]
fn logarithms_are_those_of_the_softmax() {
    let input = Floats::varied(&[2, 5]);
    let expected: Vec<f32> = input.numbers.chunks(5).flat_map(|row| reference(row, 1.0)).map(f32::ln).collect();
    let found = run_with(&[&input], &[(0, 0)], &|g, v| log_softmax(g, v[0], &[1]));
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
