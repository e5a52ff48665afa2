//! Rounding of both formats at halves and beyond the range.

use super::{Parameter, Rounding, Scale, centred, dequantize, quantize, requantize, round_to_steps, spanning};
use crate::ir::interpret::Interpreter;
use crate::ir::{ElementType, Interval, Module, Value};
use crate::operators::quantization::Affine;
use crate::operators::testing::{Floats, run};
use crate::operators::{Error, Graph};

const HALF: Scale = Scale { scale: Parameter::Number(0.5), zero_point: Parameter::Number(3.0) };

/// The bytes of a function's result on numbers.
fn bytes_of(numbers: &[f32], build: impl FnOnce(&mut Graph<'_>, Value) -> Result<Value, Error>) -> Vec<u8> {
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let x = g.constant_f32(&[numbers.len() as u64], numbers).unwrap();
    let result = build(&mut g, x).unwrap();
    let function = g.finish(vec![result]);
    Interpreter::new(&module).run_function(function, &[], None).unwrap()[0].bytes.clone()
}

#[test]
fn halves_go_away_from_zero_or_to_the_even_number() {
    let numbers = [0.25, 0.75, -0.25, -0.75, 1e9, -1e9];
    let found = |rounding| {
        let bytes = bytes_of(&numbers, |g, x| quantize(g, x, &HALF, Interval::new(-128, 127), rounding, ElementType::I8));
        bytes.into_iter().map(|n| n as i8).collect::<Vec<i8>>()
    };
    assert_eq!(found(Rounding::Away), [4, 5, 2, 1, 127, -128]);
    assert_eq!(found(Rounding::Even), [3, 5, 3, 1, 127, -128]);
}

#[test]
fn a_scale_is_inverted_in_binary32() {
    // Inverted in binary64 it would be the binary32 below, and the product less than one and a half.
    let scale = Scale { scale: Parameter::Number(0.0371), zero_point: Parameter::Number(0.0) };
    let half = [1.5 * 0.0371f32];
    let found = bytes_of(&half, |g, x| quantize(g, x, &scale, Interval::new(-128, 127), Rounding::Even, ElementType::I8));
    assert_eq!(found, [2]);
}

#[test]
fn scales_of_channels_broadcast() {
    let input = Floats::new(&[2, 2], vec![1.0, 2.0, 3.0, 4.0]);
    let scales = Floats::new(&[2], vec![0.5, 2.0]);
    for rounding in [Rounding::Away, Rounding::Even] {
        let there_and_back = run(&[&input, &scales], &|g, v| {
            let scale = Scale { scale: Parameter::Tensor(v[1]), zero_point: Parameter::Number(-1.0) };
            let integers = quantize(g, v[0], &scale, Interval::new(-128, 127), rounding, ElementType::I8)?;
            dequantize(g, integers, &scale, rounding, ElementType::F32)
        });
        assert_eq!(there_and_back, input, "{rounding:?}");
    }
}

#[test]
fn integers_change_their_scale() {
    let affine = |scale, zero_point| Affine { scale, zero_point };
    let found = bytes_of(&[10.0, -10.0, 100.0], |g, x| {
        let integers = g.convert(x, ElementType::I8)?;
        requantize(g, integers, affine(1.0, 0), affine(0.5, 1), ElementType::I8)
    });
    assert_eq!(found, [21, -19i8 as u8, 127]);
    let mut module = Module::default();
    let mut g = Graph::new(&mut module, "f");
    let x = g.constant_i32(&[1], &[1]).unwrap();
    let scale = affine(1.0, 0);
    assert_eq!(requantize(&mut g, x, scale, scale, ElementType::I64), Err(Error::NotQuantized { element: ElementType::I64 }));
}

#[test]
fn steps_are_kept_within_their_range() {
    let input = Floats::new(&[4], vec![-9.0, 0.1, 0.6, 9.0]);
    // Steps of 0.5 from −1 to 1.
    assert_eq!(
        run(&[&input], &|g, v| round_to_steps(g, v[0], Interval::new(-1.0, 1.0), Interval::new(0.0, 4.0))).numbers,
        [-1.0, 0.0, 0.5, 1.0]
    );
}

#[test]
fn a_spanning_scale_has_zero_among_its_integers() {
    let input = Floats::new(&[2], vec![-1.0, 3.0]);
    assert_eq!(run(&[&input], &|g, v| Ok(spanning(g, v[0], &[0], Interval::new(0, 8), 1e-9)?[0])).numbers, [0.5]);
    assert_eq!(run(&[&input], &|g, v| Ok(spanning(g, v[0], &[0], Interval::new(0, 8), 1e-9)?[1])).numbers, [2.0]);
    let positive = Floats::new(&[2], vec![1.0, 4.0]);
    assert_eq!(run(&[&positive], &|g, v| Ok(spanning(g, v[0], &[0], Interval::new(0, 8), 1e-9)?[1])).numbers, [0.0]);
}

#[test]
fn a_centred_scale_has_zero_in_the_middle() {
    let input = Floats::new(&[2], vec![-8.0, 3.5]);
    let found =
        |to_ends, result: usize| run(&[&input], &|g, v| Ok(centred(g, v[0], &[0], Interval::new(-8, 7), 1e-9, to_ends)?[result])).numbers;
    assert_eq!((found(true, 0), found(true, 1)), (vec![1.0], vec![0.0]));
    assert_eq!((found(false, 0), found(false, 1)), (vec![8.0f32 / 7.5], vec![0.0]));
    let nothing = Floats::new(&[1], vec![0.0]);
    assert_eq!(run(&[&nothing], &|g, v| Ok(centred(g, v[0], &[0], Interval::new(0, 255), 0.5, false)?[0])).numbers, [0.5]);
    assert_eq!(run(&[&nothing], &|g, v| Ok(centred(g, v[0], &[0], Interval::new(0, 255), 0.5, false)?[1])).numbers, [128.0]);
}
