//! Arithmetic of elements, tables, borders, and softmax.

use super::numbers::{any_byte, bytes, expect, multiplier, output, small};
use crate::frontend::executorch::fault::Fault;
use crate::frontend::executorch::ops::call::Call;
use crate::ir::{Comparison, ElementType, Interval, Node, Scalar, ScalarOp, Value};
use crate::operators::contraction::IntegerOutput;
use crate::operators::quantization::Multiplier;
use crate::operators::quantize::nearest_step;
use crate::operators::softmax as normalized;
use crate::operators::terms::{Term, Terms};

use ElementType::{F32, I8, I16, I32};

type Outcome = Result<(), Fault>;

/// The left shift of a sum's operands before they are scaled.
const HEADROOM: i32 = 20;
/// The number of steps from 0 to 1 in the result of softmax.
const STEPS: f32 = 256.0;
/// The fractional bits of the number that softmax's multiplier scales: 31 less 5.
const SOFTMAX_PLACES: i32 = 26;

/// A byte less its zero point.
fn centred(terms: &mut Terms, x: Node, zero_point: i32) -> Term {
    let (x, zero_point) = (terms.convert(x, I32), terms.i32(zero_point));
    terms.sub(x, zero_point)
}

/// A number scaled to a result.
fn scaled(terms: &mut Terms, x: Node, multiplier: Multiplier, output: &IntegerOutput) -> Term {
    let (x, zero_point) = (terms.requantize_by(x, multiplier)?, terms.i32(output.zero_point));
    let x = terms.add(x, zero_point)?;
    let x = terms.clamp_i32(x, output.bounds)?;
    Ok(terms.convert(x, output.element))
}

/// (first, zero point, multiplier, shift, second, …, output zero point, multiplier, shift, least, most).
pub(super) fn add(c: &mut Call<'_, '_, '_>) -> Outcome {
    let operands = [bytes(c, 0)?, bytes(c, 4)?];
    let zero_points = [small(c, 1)?, small(c, 5)?];
    let multipliers = [multiplier(c, 2)?, multiplier(c, 6)?];
    let (of_sum, output) = (multiplier(c, 9)?, output(c, [8, 11, 12])?);
    let y = c.graph().compute::<Fault>(&operands, |terms, x| {
        let shift = terms.i32(HEADROOM);
        let mut term = |i: usize| -> Term {
            let x = centred(terms, x[i], zero_points[i])?;
            let x = terms.op(ScalarOp::ShiftLeft, &[x, shift])?;
            terms.requantize_by(x, multipliers[i])
        };
        let (first, second) = (term(0)?, term(1)?);
        let sum = terms.add(first, second)?;
        Ok(scaled(terms, sum, of_sum, &output)?)
    })?;
    c.finish(y)
}

/// (first, zero point, second, zero point, output zero point, multiplier, shift).
pub(super) fn mul(c: &mut Call<'_, '_, '_>) -> Outcome {
    let operands = [bytes(c, 0)?, bytes(c, 2)?];
    let (zero_points, multiplier) = ([small(c, 1)?, small(c, 3)?], multiplier(c, 5)?);
    let output = any_byte(small(c, 4)?)?;
    let y = c.graph().compute::<Fault>(&operands, |terms, x| {
        let (first, second) = (centred(terms, x[0], zero_points[0])?, centred(terms, x[1], zero_points[1])?);
        let product = terms.mul(first, second)?;
        Ok(scaled(terms, product, multiplier, &output)?)
    })?;
    c.finish(y)
}

/// (first, zero point, second, zero point, output zero point, scale): the quotient is a binary32, or 0 by zero.
pub(super) fn div(c: &mut Call<'_, '_, '_>) -> Outcome {
    let operands = [c.tensor(0)?, c.tensor(2)?];
    let element = if c.element(operands[0]) == I16 { I16 } else { I8 };
    expect(c, operands[0], 0, element)?;
    expect(c, operands[1], 2, element)?;
    let (zero_points, scale) = ([small(c, 1)?, small(c, 3)?], c.double(5)? as f32);
    let bounds = if element == I16 { Interval::new(i16::MIN.into(), i16::MAX.into()) } else { Interval::new(-128, 127) };
    let output = IntegerOutput { element, bounds, ..any_byte(small(c, 4)?)? };
    let y = c.graph().compute::<Fault>(&operands, |terms, x| {
        let (first, second) = (centred(terms, x[0], zero_points[0])?, centred(terms, x[1], zero_points[1])?);
        let (first, second) = (terms.convert(first, F32), terms.convert(second, F32));
        let (zero, scale) = (terms.f32(0.0), terms.f32(scale));
        let quotient = terms.div(first, second)?;
        let some = terms.compare(Comparison::NotEqual, second, zero)?;
        let quotient = terms.select(some, quotient, zero)?;
        let product = terms.mul(quotient, scale)?;
        let y = nearest_step(terms, product, output.zero_point, output.bounds)?;
        Ok(terms.convert(y, output.element))
    })?;
    c.finish(y)
}

/// (input, table): an entry for each byte.
pub(super) fn activation(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (input, table) = (bytes(c, 0)?, bytes(c, 1)?);
    if c.shape(table)?.iter().product::<u64>() != 256 {
        return Err(Fault::invalid("the table has a wrong length").expected("256", format!("{:?}", c.shape(table)?)));
    }
    let table = c.reshape(table, &[256])?;
    let positions = c.graph().compute::<Fault>(&[input], |terms, x| Ok(centred(terms, x[0], -128)?))?;
    let y = match c.graph().known(table).map(<[u8]>::to_vec) {
        Some(entries) => {
            let table = c.graph().table(I8, entries);
            c.graph().compute::<Fault>(&[positions], |terms, x| Ok(terms.lut(table, I8, x[0])))?
        }
        None => c.graph().gather(table, positions, 0)?,
    };
    c.finish(y)
}

/// (input, dimension, input zero point, output zero point, multiplier, shift, least difference): in binary32, halves to even.
pub(super) fn softmax(c: &mut Call<'_, '_, '_>) -> Outcome {
    let input = bytes(c, 0)?;
    let axis = c.axis(c.int(1)?, c.rank(input))?;
    let (zero_point, Multiplier { mantissa, shift }) = (small(c, 2)?, multiplier(c, 4)?);
    let output = any_byte(small(c, 3)?)?;
    let scale = libm::ldexp(f64::from(mantissa), shift - 31 - SOFTMAX_PLACES) as f32;
    let axes: &[usize] = if c.rank(input) == 0 { &[] } else { &[axis] };
    let floats = c.graph().compute::<Fault>(&[input], |terms, x| {
        let (x, scale) = (centred(terms, x[0], zero_point)?, terms.f32(scale));
        let x = terms.convert(x, F32);
        Ok(terms.mul(x, scale)?)
    })?;
    let shares = normalized::softmax(c.graph(), floats, axes, 1.0, F32)?;
    let y = c.graph().compute::<Fault>(&[shares], |terms, x| {
        let steps = terms.f32(STEPS);
        let x = terms.mul(x[0], steps)?;
        let x = nearest_step(terms, x, output.zero_point, output.bounds)?;
        Ok(terms.convert(x, I8))
    })?;
    c.finish(y)
}

/// (input, before, after, number). The amounts are for four dimensions in the order of memory; a tensor with fewer has the last ones.
pub(super) fn pad(c: &mut Call<'_, '_, '_>) -> Outcome {
    let input = c.tensor(0)?;
    let rank = c.rank(input);
    let amounts = [c.per_dimension(1, 4)?, c.per_dimension(2, 4)?];
    let Some(first) = 4usize.checked_sub(rank) else {
        return Err(Fault::unsupported("a border around more dimensions").expected("up to 4", rank.to_string()));
    };
    if amounts.iter().flatten().any(|amount| !(0..=i64::from(i32::MAX)).contains(amount)) {
        return Err(Fault::invalid("a border is out of range").expected("0 to 2^31 - 1", format!("{amounts:?}")));
    }
    let is_last = has_channels_last(c, input)?;
    let [before, after] = amounts.map(|list| if is_last { [0, 3, 1, 2].map(|d| list[d]).to_vec() } else { list[first..].to_vec() });
    let element = c.element(input);
    let number = match element {
        F32 => Scalar::float(F32, c.double(3)?),
        _ => Scalar::int(element, c.int(3)?),
    };
    let y = c.graph().pad(input, &before, &after, number)?;
    c.finish(y)
}

/// Tests whether the first argument has its channels last in memory. An image of one channel or one pixel has, whatever the file says.
fn has_channels_last(c: &Call<'_, '_, '_>, input: Value) -> Result<bool, Fault> {
    let shape = c.extents(input);
    let is_one = |d: usize| shape[d].as_static() == Some(1);
    Ok(shape.len() == 4 && (is_one(1) || is_one(2) && is_one(3) || c.out_form(0)?.order()[..2] == [0, 2]))
}
