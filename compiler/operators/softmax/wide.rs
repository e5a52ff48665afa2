//! SOFTMAX of 16-bit integers: exponentials and the reciprocal of their sum by interpolated tables.

use crate::ir::{Constant, ElementType, Interval, Node, Reduction, ScalarOp, Value};
use crate::operators::quantization::multiplier;
use crate::operators::tables::{interpolate, points};
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};
use ElementType::{I16, I32, I64};

/// A table of a function over `from × (x − zero point)` whose results count in steps of 2 ÷ 65535.
fn table(g: &mut Graph<'_>, from: f32, zero_point: i32, function: fn(f32) -> f32) -> Constant {
    let points = points((from, zero_point), 2.0 / 65535.0, &function);
    g.table(I16, points.iter().flat_map(|n| n.to_le_bytes()).collect())
}

/// SOFTMAX over the last dimension. Differences from the row's maximum down to −10 are spread over 16 bits.
///
/// # Errors
/// When the scale is out of range.
pub fn softmax(g: &mut Graph<'_>, input: Value, scale: f32, beta: f32) -> Result<Value, Error> {
    const RANGE: f64 = 10.0 / 65535.0;
    let factor = multiplier(f64::from(scale) * f64::from(beta) / RANGE)?;
    let exponentials = table(g, (10.0 / 65535.0) as f32, 32767, |x| libm::exp(f64::from(x)) as f32);
    let reciprocals = table(g, (1.0 / 65535.0) as f32, -32768, |x| 1.0 / (1.0 + x));
    let axis = vec![g.rank(input).saturating_sub(1)];
    let largest = g.builder.reduce(input, Reduction::Max, axis.clone())?;
    let mut terms = Terms::new(&[I16, I16]);
    let (x, top) = (terms.input_as(0, I32), terms.input_as(1, I32));
    let difference = terms.sub(x, top)?;
    let scaled = terms.requantize_by(difference, factor)?;
    let last = terms.i32(32767);
    let place = terms.add(scaled, last)?;
    let place = terms.clamp_i32(place, Interval::new(-32768, 32767))?;
    let power = interpolate(&mut terms, place, exponentials)?;
    let power = terms.convert(power, I32);
    let powers = g.map(&[input, largest], terms.finish(power))?;
    let sum = g.builder.reduce(powers, Reduction::Sum, axis)?;
    let mut terms = Terms::new(&[I32]);
    let (reciprocal, shift) = reciprocal(&mut terms, reciprocals)?;
    let row = g.map_many(&[sum], terms.finish_many(vec![reciprocal, shift]))?;
    let mut terms = Terms::new(&[I32, I32, I32]);
    let result = quotient(&mut terms)?;
    g.map(&[powers, row[0], row[1]], terms.finish(result))
}

/// The reciprocal of the sum of exponentials (input 0), and the right shift that a product with it needs.
fn reciprocal(terms: &mut Terms, table: Constant) -> Result<(Node, Node), Error> {
    let sum = terms.input(0);
    let zeros = terms.op(ScalarOp::CountLeadingZeros, &[sum])?;
    let (one, fourteen, most) = (terms.i32(1), terms.i64(14), terms.i32(31));
    let headroom = terms.sub(zeros, one)?;
    let (wide, count, half) = (terms.convert(sum, I64), terms.convert(headroom, I64), terms.i64(1 << 13));
    let shifted = terms.op(ScalarOp::ShiftLeft, &[wide, count])?;
    let shifted = terms.add(shifted, half)?;
    let shifted = terms.op(ScalarOp::ShiftRight, &[shifted, fourteen])?;
    let shifted = terms.convert(shifted, I32);
    let centre = terms.i32((1 << 15) + (1 << 16));
    let place = terms.sub(shifted, centre)?;
    let place = terms.clamp_i32(place, Interval::new(-32768, 32767))?;
    let reciprocal = interpolate(terms, place, table)?;
    let shift = terms.sub(most, zeros)?;
    Ok((terms.convert(reciprocal, I32), shift))
}

/// Input 0 times input 1, shifted right by input 2 with rounding.
fn quotient(terms: &mut Terms) -> Term {
    let [power, reciprocal, shift] = [0, 1, 2].map(|input| terms.input_as(input, I64));
    let one = terms.i64(1);
    let product = terms.mul(power, reciprocal)?;
    let before = terms.sub(shift, one)?;
    let half = terms.op(ScalarOp::ShiftLeft, &[one, before])?;
    let sum = terms.add(product, half)?;
    let result = terms.op(ScalarOp::ShiftRight, &[sum, shift])?;
    let result = terms.convert(result, I32);
    let result = terms.clamp_i32(result, Interval::new(0, 32767))?;
    Ok(terms.convert(result, I16))
}
