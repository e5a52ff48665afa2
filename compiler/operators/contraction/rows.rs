//! Rows of floats quantized to int8 when the program runs, each with a scale of its own.

use crate::ir::{Comparison, ElementType, Interval, Node, Reduction, ScalarOp, Value};
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};
use ElementType::{F32, F64, I8, I32};

/// Rows of floats as integers: `real = scale × (integer − offset)`.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// The integers, i8, in the shape of the floats.
    pub integers: Value,
    /// The scale of each row, f32; the reduced axes have extent 1.
    pub scales: Value,
    /// The offset of each row, i32, in the shape of the scales; none when symmetric.
    pub offsets: Option<Value>,
}

/// Quantizes to −127..=127 with zero at 0: the scale is the largest magnitude over `axes` ÷ 127, and 1 for a row of zeros.
///
/// # Errors
/// When the input is no tensor of f32 with such axes.
pub fn symmetric_rows(g: &mut Graph<'_>, input: Value, axes: &[usize]) -> Result<Rows, Error> {
    let mut terms = Terms::new(&[F32]);
    let x = terms.input(0);
    let magnitude = terms.op(ScalarOp::Abs, &[x])?;
    let magnitudes = g.map(&[input], terms.finish(magnitude))?;
    let largest = g.builder.reduce(magnitudes, Reduction::Max, axes.to_vec())?;

    let mut terms = Terms::new(&[F32]);
    let range = terms.input(0);
    let (steps, zero, one) = (terms.f32(127.0), terms.f32(0.0), terms.f32(1.0));
    let is_zero = terms.compare(Comparison::Equal, range, zero)?;
    let scale = terms.div(range, steps)?;
    let scale = terms.select(is_zero, one, scale)?;
    let inverse = terms.div(steps, range)?;
    let inverse = terms.select(is_zero, zero, inverse)?;
    let both = g.map_many(&[largest], terms.finish_many(vec![scale, inverse]))?;

    let mut terms = Terms::new(&[F32, F32]);
    let (x, inverse) = (terms.input(0), terms.input(1));
    let scaled = terms.mul(x, inverse)?;
    let shifted = half_further_out(&mut terms, scaled)?;
    let integer = narrowed(&mut terms, shifted, Interval::new(-127, 127))?;
    let integers = g.map(&[input, both[1]], terms.finish(integer))?;
    Ok(Rows { integers, scales: both[0], offsets: None })
}

/// A float plus ½ away from zero: cutting its fraction off rounds the float. The sum itself is rounded, as in the reference, so that
/// the largest number below ½ becomes 1.
fn half_further_out(terms: &mut Terms, x: Node) -> Term {
    let (zero, half, minus_half) = (terms.f32(0.0), terms.f32(0.5), terms.f32(-0.5));
    let negative = terms.compare(Comparison::Less, x, zero)?;
    let out = terms.select(negative, minus_half, half)?;
    terms.add(x, out)
}

/// A float rounded half away from zero, clamped and narrowed to i8.
fn rounded(terms: &mut Terms, x: Node, bounds: Interval<i32>) -> Term {
    let x = terms.round_away(x)?;
    narrowed(terms, x, bounds)
}

/// A float without its fraction, clamped and narrowed to i8.
fn narrowed(terms: &mut Terms, x: Node, bounds: Interval<i32>) -> Term {
    let x = terms.convert(x, I32);
    let x = terms.clamp_i32(x, bounds)?;
    Ok(terms.convert(x, I8))
}

/// Quantizes to −128..=127 so that the row's range and zero both fit. The zero point is computed in binary64, from the end of the range whose
/// arithmetic errs less.
///
/// # Errors
/// When the input is no tensor of f32 with such axes.
pub fn asymmetric_rows(g: &mut Graph<'_>, input: Value, axes: &[usize]) -> Result<Rows, Error> {
    let smallest = g.builder.reduce(input, Reduction::Min, axes.to_vec())?;
    let largest = g.builder.reduce(input, Reduction::Max, axes.to_vec())?;
    let mut terms = Terms::new(&[F32, F32]);
    let results = asymmetric_parameters(&mut terms)?;
    let parameters = g.map_many(&[smallest, largest], terms.finish_many(results.to_vec()))?;

    let mut terms = Terms::new(&[F32, F32, I32]);
    let (x, inverse) = (terms.input(0), terms.input(1));
    let offset = terms.input_as(2, F32);
    let scaled = terms.mul(x, inverse)?;
    let shifted = terms.add(offset, scaled)?;
    let integer = rounded(&mut terms, shifted, Interval::new(-128, 127))?;
    let integers = g.map(&[input, parameters[1], parameters[2]], terms.finish(integer))?;
    Ok(Rows { integers, scales: parameters[0], offsets: Some(parameters[2]) })
}

/// Scale, inverse scale and offset from the smallest and largest element. A row of zeros has scale 1 and offset 0, and an inverse
/// of 0 that makes its integers 0.
fn asymmetric_parameters(terms: &mut Terms) -> Result<[Node; 3], Error> {
    let (zero, one) = (terms.f32(0.0), terms.f32(1.0));
    let (smallest, largest) = (terms.input(0), terms.input(1));
    let low = terms.min(zero, smallest)?;
    let high = terms.max(zero, largest)?;
    let empty = terms.compare(Comparison::Equal, low, high)?;
    let (low, high) = (terms.convert(low, F64), terms.convert(high, F64));
    let (first, last, steps) = (terms.f64(-128.0), terms.f64(127.0), terms.f64(255.0));
    let range = terms.sub(high, low)?;
    let scale = terms.div(range, steps)?;
    let (low_steps, high_steps) = (terms.div(low, scale)?, terms.div(high, scale)?);
    let (from_low, from_high) = (terms.sub(first, low_steps)?, terms.sub(last, high_steps)?);
    let error = |terms: &mut Terms, end: f64, steps: Node| {
        let magnitude = terms.op(ScalarOp::Abs, &[steps])?;
        let end = terms.f64(end);
        terms.add(end, magnitude)
    };
    let (low_error, high_error) = (error(terms, 128.0, low_steps)?, error(terms, 127.0, high_steps)?);
    let low_is_better = terms.compare(Comparison::Less, low_error, high_error)?;
    let zero_point = terms.select(low_is_better, from_low, from_high)?;
    let zero_point = terms.round_away(zero_point)?;
    let zero_point = terms.max(zero_point, first)?;
    let zero_point = terms.min(zero_point, last)?;
    let zero_point = terms.convert(zero_point, I32);
    let no_offset = terms.i32(0);
    let offset = terms.select(empty, no_offset, zero_point)?;
    let scale = terms.convert(scale, F32);
    let scale = terms.select(empty, one, scale)?;
    let inverse = terms.div(one, scale)?;
    let inverse = terms.select(empty, zero, inverse)?;
    Ok([scale, inverse, offset])
}

/// Quantizes to −128..=127 as XNNPACK does, everything in binary32. A row's range with zero in it spans 255 steps. The zero point is computed from
/// the end of the range that errs less.
///
/// # Errors
/// When the input is no tensor of f32 with such axes.
pub fn spanning_rows(g: &mut Graph<'_>, input: Value, axes: &[usize]) -> Result<Rows, Error> {
    let smallest = g.builder.reduce(input, Reduction::Min, axes.to_vec())?;
    let largest = g.builder.reduce(input, Reduction::Max, axes.to_vec())?;
    let mut terms = Terms::new(&[F32, F32]);
    let results = spanning_parameters(&mut terms)?;
    let parameters = g.map_many(&[smallest, largest], terms.finish_many(results.to_vec()))?;

    let mut terms = Terms::new(&[F32, F32, I32]);
    let (x, steps, zero_point) = (terms.input(0), terms.input(1), terms.input(2));
    let scaled = terms.mul(x, steps)?;
    let rounded = terms.op(ScalarOp::RoundEven, &[scaled])?;
    let integer = terms.convert(rounded, I32);
    // A number of this row has at most 256 steps; others, of a row with NaN in it, must not wrap.
    let integer = terms.clamp_i32(integer, Interval::new(-512, 512))?;
    let integer = terms.add(integer, zero_point)?;
    let integer = terms.clamp_i32(integer, Interval::new(-128, 127))?;
    let integer = terms.convert(integer, I8);
    let integers = g.map(&[input, parameters[1], parameters[2]], terms.finish(integer))?;
    Ok(Rows { integers, scales: parameters[0], offsets: Some(parameters[2]) })
}

/// Scale, its inverse and the zero point from the smallest and largest element.
fn spanning_parameters(terms: &mut Terms) -> Result<[Node; 3], Error> {
    let (zero, one, span) = (terms.f32(0.0), terms.f32(1.0), terms.f32(255.0));
    let (smallest, largest) = (terms.input(0), terms.input(1));
    let (low, high) = (terms.min(smallest, zero)?, terms.max(largest, zero)?);
    let empty = terms.compare(Comparison::Equal, low, high)?;
    let range = terms.sub(high, low)?;
    let steps = terms.div(span, range)?;
    let steps = terms.select(empty, one, steps)?;
    let (below, above) = (terms.mul(low, steps)?, terms.mul(high, steps)?);
    let (first, last) = (terms.f32(-128.0), terms.f32(127.0));
    let (low_error, high_error) = (terms.add(first, below)?, terms.add(last, above)?);
    let error = terms.add(low_error, high_error)?;
    let low_is_better = terms.compare(Comparison::Greater, error, zero)?;
    let (from_low, from_high) = (terms.sub(first, below)?, terms.sub(last, above)?);
    let zero_point = terms.select(low_is_better, from_low, from_high)?;
    let zero_point = terms.max(zero_point, first)?;
    let zero_point = terms.min(zero_point, last)?;
    let zero_point = terms.op(ScalarOp::RoundEven, &[zero_point])?;
    let zero_point = terms.convert(zero_point, I32);
    let scale = terms.div(one, steps)?;
    Ok([scale, steps, zero_point])
}
