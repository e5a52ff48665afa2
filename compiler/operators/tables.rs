//! Functions of one quantized tensor as tables: one entry for each 8-bit integer, or 513 points with interpolation for 16 bits.

use super::fixed_point::{divide_by_power_of_two, inverse_root_of, multiply_high};
use super::quantization::{Affine, Multiplier, integer_range, multiplier};
use super::terms::{Term, Terms};
use super::{Error, Graph};
use crate::ir::{Constant, ElementType, Node, ScalarOp, Value};
use ElementType::{I16, I32};

/// A function from one scale to another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scales {
    /// The operand's.
    pub from: Affine,
    /// The result's.
    pub to: Affine,
    /// Type of the result.
    pub element: ElementType,
}

/// An 8-bit function of an 8-bit tensor by its value at every integer.
///
/// # Errors
/// [`Error::NotQuantized`] of other types.
fn by_entry(g: &mut Graph<'_>, input: Value, scales: &Scales, entry: impl Fn(i32) -> i32) -> Result<Value, Error> {
    let (from, to) = (g.element(input), scales.element);
    let range = |element: ElementType| integer_range(element).filter(|_| element.bits() == 8).ok_or(Error::NotQuantized { element });
    let (entries, results) = (range(from)?, range(to)?);
    let table = g.table(to, (entries.low..=entries.high).map(|x| entry(x).clamp(results.low, results.high) as u8).collect());
    let mut terms = Terms::new(&[from]);
    let (x, first) = (terms.input_as(0, I32), terms.i32(-entries.low));
    let index = terms.add(x, first)?;
    let x = terms.lut(table, to, index);
    g.map(&[input], terms.finish(x))
}

/// A function of real numbers at each integer of the input's scale, on the output's scale, rounded half away from zero. All is in binary32, as the
/// reference computes its tables. Between 16-bit integers, whose zero points are 0, lines are drawn.
///
/// # Errors
/// [`Error::NotQuantized`] of other types than 8 bits, or 16 on both sides.
pub fn function(g: &mut Graph<'_>, input: Value, scales: &Scales, function: impl Fn(f32) -> f32) -> Result<Value, Error> {
    let Scales { from, to, element } = *scales;
    if g.element(input) == I16 && element == I16 {
        let bytes = points((from.scale, 0), to.scale, &function).iter().flat_map(|n| n.to_le_bytes()).collect();
        let table = g.table(I16, bytes);
        let mut terms = Terms::new(&[I16]);
        let x = terms.input_as(0, I32);
        let x = interpolate(&mut terms, x, table)?;
        return g.map(&[input], terms.finish(x));
    }
    let inverse = 1.0 / to.scale;
    by_entry(g, input, scales, |x| {
        let real = function(from.scale * (x - from.zero_point) as f32);
        (libm::roundf(real * inverse) + to.zero_point as f32) as i32
    })
}

/// 513 points over the range of 16 bits; between them lines, each point moved by half the error in the middle of its line.
pub fn points((from, zero_point): (f32, i32), to: f32, function: &dyn Fn(f32) -> f32) -> Vec<i16> {
    const STEPS: i32 = 512;
    let (first, last) = (from * (-32768 - zero_point) as f32, from * (32767 - zero_point) as f32);
    let step = (last - first) / STEPS as f32;
    let inverse = 65536.0 / (to * 32767.0 - to * -32768.0);
    let round = libm::roundf;
    let clamp = |x: f32| x.clamp(-32768.0, 32767.0) as i16;
    let point = |i: i32| {
        let value = function(first + i as f32 * step);
        let middle = function(first + i as f32 * step + step / 2.0);
        let next = function(first + (i + 1) as f32 * step);
        let sample = round(value * inverse);
        let interpolated = round((next * inverse + sample) / 2.0);
        let error = interpolated - round(middle * inverse);
        clamp(sample - round(error / 2.0))
    };
    let end = clamp(round(function(last) * inverse));
    (0..STEPS).map(point).chain([end]).collect()
}

/// The table's value at a 16-bit integer: the high nine bits choose the line, the low seven the place on it.
///
/// # Errors
/// A mistake of type: x is no integer of 32 bits.
pub fn interpolate(terms: &mut Terms, x: Node, table: Constant) -> Term {
    use ScalarOp::{And, ShiftRight};
    let (seven, first, one, mask, half) = (terms.i32(7), terms.i32(256), terms.i32(1), terms.i32(127), terms.i32(64));
    let line = terms.op(ShiftRight, &[x, seven])?;
    let line = terms.add(line, first)?;
    let next = terms.add(line, one)?;
    let place = terms.op(And, &[x, mask])?;
    let (start, end) = (terms.lut(table, I16, line), terms.lut(table, I16, next));
    // The difference wraps to 16 bits, as in the reference.
    let slope = terms.sub(end, start)?;
    let (slope, start) = (terms.convert(slope, I32), terms.convert(start, I32));
    let rise = terms.mul(slope, place)?;
    let rise = terms.add(rise, half)?;
    let rise = terms.op(ShiftRight, &[rise, seven])?;
    let x = terms.add(start, rise)?;
    Ok(terms.convert(x, I16))
}

/// `x × multiplier` with two roundings, as `requant.tflite_double` computes it.
fn rescale(x: i32, factor: Multiplier) -> i32 {
    let shifted = x.wrapping_shl(factor.shift.max(0) as u32);
    divide_by_power_of_two(multiply_high(shifted, factor.mantissa), (-factor.shift).max(0) as u32)
}

/// ABS on 8-bit integers; rescaled only where the scales differ.
///
/// # Errors
/// When types are not of 8 bits, or scales are out of range.
pub fn abs(g: &mut Graph<'_>, input: Value, scales: &Scales) -> Result<Value, Error> {
    let Scales { from, to, .. } = *scales;
    let factor = (from.scale != to.scale).then(|| multiplier(f64::from(from.scale / to.scale))).transpose()?;
    by_entry(g, input, scales, |x| {
        let magnitude = (x - from.zero_point).abs();
        factor.map_or(magnitude, |factor| rescale(magnitude, factor)).saturating_add(to.zero_point)
    })
}

/// RSQRT on 8-bit integers: a multiplier from the root in fixed point; zero gives the largest output.
///
/// # Errors
/// When types are not of 8 bits, or scales are out of range.
pub fn inverse_root(g: &mut Graph<'_>, input: Value, scales: &Scales) -> Result<Value, Error> {
    // Bits that keep the reciprocal whole.
    const KEPT: i32 = 20;
    let Scales { from, to, .. } = *scales;
    // The reference takes the root in binary64 of a binary32 scale.
    let factor = multiplier(1.0 / (libm::sqrt(f64::from(from.scale)) * f64::from(to.scale)))?;
    by_entry(g, input, scales, |x| {
        let distance = x - from.zero_point;
        if distance <= 0 {
            return i32::MAX;
        }
        let root = inverse_root_of(distance);
        let scaled = rescale(1, Multiplier { shift: root.shift + KEPT, ..root });
        rescale(scaled, Multiplier { shift: factor.shift - KEPT, ..factor }).saturating_add(to.zero_point)
    })
}

/// HARD_SWISH on 8-bit integers: 16-bit fixed point, where x is clamped to −3..3 and brought to 0..1 on the way.
///
/// # Errors
/// When types are not of 8 bits, or scales are out of range.
pub fn hard_swish(g: &mut Graph<'_>, input: Value, scales: &Scales) -> Result<Value, Error> {
    let Scales { from, to, .. } = *scales;
    let fine_scale = (1.0 / 128.0) * from.scale;
    let to_output = multiplier(f64::from(fine_scale / to.scale))?;
    let to_gate = multiplier(f64::from(fine_scale / (3.0 / 32768.0)))?;
    if to_output.shift > 0 || to_gate.shift > 15 {
        return Err(Error::ScaleRatio { ratio: f64::from(fine_scale / to.scale) });
    }
    let narrow = |m: Multiplier| (m.mantissa.saturating_add(1 << 15) >> 16) as i16;
    let (output_factor, gate_factor) = (narrow(to_output), narrow(to_gate));
    by_entry(g, input, scales, |x| {
        let fine = ((x - from.zero_point) << 7) as i16;
        let scaled = multiply_high_16(fine, output_factor);
        let mut gate = fine;
        if to_gate.shift > 0 {
            gate = shift_left_16(gate, to_gate.shift - 1);
        }
        gate = multiply_high_16(gate, gate_factor);
        if to_gate.shift > 0 {
            gate = shift_left_16(gate, 1);
        }
        if to_gate.shift < 0 {
            gate = divide_by_power_of_two(i32::from(gate), (-to_gate.shift) as u32) as i16;
        }
        let gate = ((i32::from(gate) + (1 << 15)) >> 1) as i16;
        // Rounds towards zero, unlike the products above.
        let product = i32::from(gate) * i32::from(scaled) / (1 << 15);
        divide_by_power_of_two(product, (-to_output.shift) as u32) + to.zero_point
    })
}

/// `(2·a·b + 2¹⁵) >> 16`, saturating.
fn multiply_high_16(a: i16, b: i16) -> i16 {
    if a == i16::MIN && b == i16::MIN {
        return i16::MAX;
    }
    let product = i32::from(a) * i32::from(b);
    let nudge = if product >= 0 { 1 << 14 } else { 1 - (1 << 14) };
    ((product + nudge) / (1 << 15)) as i16
}

fn shift_left_16(x: i16, count: i32) -> i16 {
    (i64::from(x) << count).clamp(-32768, 32767) as i16
}
