//! Conversion from real numbers to integers of a scale and back, and from one scale to another.
//!
//! Formats differ in their rounding ([`Rounding`]). They divide by the scale or multiply by its inverse. Halves go in different directions. The zero
//! point is added as an integer or as a float.

use super::quantization::{Affine, integer_range, multiplier};
use super::terms::{Term, Terms};
use super::{Error, Graph};
use crate::ir::{ElementType, Interval, NanRule, Node, Reduction, Scalar, ScalarOp, Value};
use ElementType::{F32, I32};

/// A scale or a zero point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Parameter {
    /// One number.
    Number(f64),
    /// A tensor that broadcasts over the quantized one.
    Tensor(Value),
}

/// The quantization of real numbers by integers: `real = scale × (integer − zero point)`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    /// Real value of one step.
    pub scale: Parameter,
    /// The integer that stands for zero.
    pub zero_point: Parameter,
}

/// The rounding of a real number to an integer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rounding {
    /// TFLite: x ÷ scale, halves away from zero; the zero point is added in integers.
    Away,
    /// ExecuTorch: x × (1 ÷ scale), scale and inverse in binary32, halves to the even number. The zero point is added in floats. PyTorch inverts the
    /// scale in binary64. For some scales that are no binary32, results then differ at numbers halfway between two integers.
    Even,
}

impl Scale {
    /// The parameters that are tensors.
    fn tensors(&self) -> impl Iterator<Item = Value> {
        [self.scale, self.zero_point].into_iter().filter_map(|p| if let Parameter::Tensor(value) = p { Some(value) } else { None })
    }

    /// Converts tensors of parameters to binary32 in advance, so that each is converted once and not once an element.
    fn in_binary32(&self, g: &mut Graph<'_>) -> Result<Self, Error> {
        let mut single = |parameter: Parameter| -> Result<Parameter, Error> {
            let Parameter::Tensor(value) = parameter else { return Ok(parameter) };
            Ok(Parameter::Tensor(if g.element(value) == F32 { value } else { g.convert(value, F32)? }))
        };
        Ok(Self { scale: single(self.scale)?, zero_point: single(self.zero_point)? })
    }

    /// Replaces the scale by its inverse. The scale is rounded to binary32 before it is inverted.
    fn inverted(&self, g: &mut Graph<'_>) -> Result<Self, Error> {
        let single = self.in_binary32(g)?;
        let scale = match single.scale {
            Parameter::Number(number) => Parameter::Number(f64::from(1.0 / number as f32)),
            Parameter::Tensor(value) => Parameter::Tensor(g.compute::<Error>(&[value], |terms, x| {
                let one = terms.f32(1.0);
                Ok(terms.div(one, x[0])?)
            })?),
        };
        Ok(Self { scale, ..single })
    }

    /// Builds an expression over a tensor and the parameters. If a type is given for the tensor, it is converted to it first. The parameters are
    /// converted to the other types.
    fn map(
        &self,
        g: &mut Graph<'_>,
        x: Value,
        (ty, [scale_type, zero_point_type]): (Option<ElementType>, [ElementType; 2]),
        build: impl FnOnce(&mut Terms, Node, [Node; 2]) -> Term,
    ) -> Result<Value, Error> {
        let operands: Vec<Value> = std::iter::once(x).chain(self.tensors()).collect();
        let elements: Vec<ElementType> = operands.iter().map(|&value| g.element(value)).collect();
        let mut terms = Terms::new(&elements);
        let mut x = terms.input(0);
        if let Some(ty) = ty {
            x = terms.convert(x, ty);
        }
        let mut next = 1;
        let mut parameter = |terms: &mut Terms, parameter: Parameter, ty: ElementType| match parameter {
            Parameter::Number(number) if ty.is_float() => terms.constant(Scalar::float(ty, number)),
            Parameter::Number(number) => terms.constant(Scalar::int(ty, number as i64)),
            Parameter::Tensor(_) => {
                next += 1;
                terms.input_as(next - 1, ty)
            }
        };
        let parameters = [parameter(&mut terms, self.scale, scale_type), parameter(&mut terms, self.zero_point, zero_point_type)];
        let result = build(&mut terms, x, parameters)?;
        g.map(&operands, terms.finish(result))
    }
}

/// Integers of a type, between two bounds, for floats.
///
/// # Errors
/// When parameters do not broadcast.
pub fn quantize(
    g: &mut Graph<'_>,
    x: Value,
    scale: &Scale,
    bounds: Interval,
    rounding: Rounding,
    result: ElementType,
) -> Result<Value, Error> {
    match rounding {
        Rounding::Away => {
            let bound = |n: i64| i32::try_from(n).map_err(|_| Error::NotQuantized { element: result });
            let bounds = Interval::new(bound(bounds.low)?, bound(bounds.high)?);
            scale.map(g, x, (None, [F32, I32]), |terms, x, [scale, zero_point]| {
                let x = terms.div(x, scale)?;
                let x = at_zero_point(terms, x, zero_point, bounds)?;
                Ok(terms.convert(x, result))
            })
        }
        Rounding::Even => {
            let known = small_numbers(scale.zero_point, bounds);
            let scale = scale.inverted(g)?;
            scale.map(g, x, (None, [F32, F32]), |terms, x, [factor, zero_point]| {
                let x = terms.convert(x, F32);
                let scaled = terms.mul(x, factor)?;
                if let Some((zero, bounds)) = known {
                    let x = nearest_step(terms, scaled, zero, bounds)?;
                    return Ok(terms.convert(x, result));
                }
                let rounded = terms.op(ScalarOp::RoundEven, &[scaled])?;
                let moved = terms.add(rounded, zero_point)?;
                let limited = limited(terms, moved, Interval::new(bounds.low as f32, bounds.high as f32))?;
                Ok(terms.convert(limited, result))
            })
        }
    }
}

/// A zero point and bounds that are known, and so small that binary32 has them and their differences.
fn small_numbers(zero_point: Parameter, bounds: Interval) -> Option<(i32, Interval<i32>)> {
    let small = |n: i64| i32::try_from(n).ok().filter(|n| n.unsigned_abs() < 1 << 22);
    let Parameter::Number(zero) = zero_point else { return None };
    let zero = Some(zero as i64).filter(|&whole| whole as f64 == zero)?;
    Some((small(zero)?, Interval::new(small(bounds.low)?, small(bounds.high)?)))
}

/// A binary32 between two bounds; NaN becomes the lower one.
fn limited(terms: &mut Terms, x: Node, bounds: Interval<f32>) -> Term {
    let (low, high) = (terms.f32(bounds.low), terms.f32(bounds.high));
    // The larger of a number and NaN is the one that comes first.
    let above = terms.max(low, x)?;
    terms.min(above, high)
}

/// `clamp(round(x) + zero point)` of a binary32 in steps of a scale, halves to even, as a 32-bit integer. NaN becomes the lower bound. The bounds are
/// integers, so they can be applied before rounding, and no later step can overflow.
///
/// # Errors
/// A mistake of type: x is no binary32.
pub fn nearest_step(terms: &mut Terms, x: Node, zero_point: i32, bounds: Interval<i32>) -> Term {
    let x = limited(terms, x, Interval::new((bounds.low - zero_point) as f32, (bounds.high - zero_point) as f32))?;
    let x = terms.op(ScalarOp::RoundEven, &[x])?;
    let x = terms.convert(x, I32);
    let zero_point = terms.i32(zero_point);
    terms.add(x, zero_point)
}

/// `clamp(round(x) + zero point)` of a binary32 in steps of the scale, halves away from zero. Numbers beyond the range, or beyond 32 bits, become the
/// nearer end.
///
/// # Errors
/// A mistake of type: x is no float.
pub fn at_zero_point(terms: &mut Terms, x: Node, zero_point: Node, bounds: Interval<i32>) -> Term {
    let x = terms.round_away(x)?;
    let x = terms.convert(x, I32);
    // Numbers this large are out of range with any zero point, and adding one must not wrap.
    let x = terms.clamp_i32(x, Interval::new(-(1 << 20), 1 << 20))?;
    let x = terms.add(x, zero_point)?;
    terms.clamp_i32(x, bounds)
}

/// `scale × (integer − zero point)` in a float type. The difference is an integer if halves are rounded away from zero, and else a binary32. The
/// product of an integer of few bits and a binary32 is rounded once either way.
///
/// # Errors
/// When parameters do not broadcast.
pub fn dequantize(g: &mut Graph<'_>, x: Value, scale: &Scale, rounding: Rounding, result: ElementType) -> Result<Value, Error> {
    let (first, ty) = if rounding == Rounding::Away { (Some(I32), I32) } else { (None, F32) };
    let scale = if rounding == Rounding::Even { &scale.in_binary32(g)? } else { scale };
    scale.map(g, x, (first, [F32, ty]), |terms, x, [scale, zero_point]| {
        let x = terms.convert(x, ty);
        let x = terms.sub(x, zero_point)?;
        let x = terms.convert(x, F32);
        let x = terms.mul(x, scale)?;
        Ok(terms.convert(x, result))
    })
}

/// Integers on another scale, in fixed point with two roundings.
///
/// # Errors
/// When the ratio of the scales is out of range, or the result's type holds no quantized numbers.
pub fn requantize(g: &mut Graph<'_>, x: Value, from: Affine, to: Affine, result: ElementType) -> Result<Value, Error> {
    let factor = multiplier(f64::from(from.scale) / f64::from(to.scale))?;
    // The type I32 clamps to its own range.
    let bounds = if result == I32 { Some(Interval::new(i32::MIN, i32::MAX)) } else { integer_range(result) };
    let bounds = bounds.ok_or(Error::NotQuantized { element: result })?;
    let mut terms = Terms::new(&[g.element(x)]);
    let term = terms.input_as(0, I32);
    let (from_zero, to_zero) = (terms.i32(from.zero_point), terms.i32(to.zero_point));
    let term = terms.sub(term, from_zero)?;
    let term = terms.requantize_by(term, factor)?;
    let term = terms.add(term, to_zero)?;
    let term = terms.clamp_i32(term, bounds)?;
    let term = terms.convert(term, result);
    g.map(&[x], terms.finish(term))
}

/// Bytes on another scale as XNNPACK converts them: the ratio of the scales with eight fractional bits, products rounded half up.
///
/// # Errors
/// When the ratio of the scales is out of XNNPACK's range, 2⁻⁸ to 2⁷, or the result's type holds no quantized numbers.
pub fn rescale(g: &mut Graph<'_>, x: Value, from: Affine, to: Affine, result: ElementType) -> Result<Value, Error> {
    let ratio = from.scale / to.scale;
    if !(1.0 / 256.0..=128.0).contains(&ratio) {
        return Err(Error::ScaleRatio { ratio: f64::from(ratio) });
    }
    let factor = libm::rintf(256.0 * ratio) as i32;
    let bounds = integer_range(result).ok_or(Error::NotQuantized { element: result })?;
    g.compute::<Error>(&[x], |terms, x| {
        let x = terms.convert(x[0], I32);
        let (from_zero, to_zero, factor, half) = (terms.i32(from.zero_point), terms.i32(to.zero_point), terms.i32(factor), terms.i32(128));
        let x = terms.sub(x, from_zero)?;
        let x = terms.mul(x, factor)?;
        let x = terms.add(x, half)?;
        let x = super::terms::shifted_right(terms, x, 8)?;
        let x = terms.add(x, to_zero)?;
        let x = terms.clamp_i32(x, bounds)?;
        Ok(terms.convert(x, result))
    })
}

/// Rounds floats to the steps of a quantized scale over a range. The range is moved a little so that zero is a step.
///
/// # Errors
/// When elements are no binary32.
pub fn round_to_steps(g: &mut Graph<'_>, x: Value, range: Interval<f32>, steps: Interval<f32>) -> Result<Value, Error> {
    let scale = (range.high - range.low) / (steps.high - steps.low);
    let zero = (steps.low - range.low / scale).clamp(steps.low, steps.high);
    let zero = libm::roundf(zero);
    let (low, high) = ((steps.low - zero) * scale, (steps.high - zero) * scale);
    let mut terms = Terms::new(&[F32]);
    let term = terms.input(0);
    let (low_term, high_term, scale_term, inverse) = (terms.f32(low), terms.f32(high), terms.f32(scale), terms.f32(1.0 / scale));
    let term = terms.max(term, low_term)?;
    let term = terms.min(term, high_term)?;
    let term = terms.sub(term, low_term)?;
    let term = terms.mul(term, inverse)?;
    let term = terms.round_away(term)?;
    let term = terms.mul(term, scale_term)?;
    let term = terms.add(term, low_term)?;
    g.map(&[x], terms.finish(term))
}

/// The scale at which floats along axes, and zero, span a range of integers, and the zero point. The scale is at least `least`.
/// Both are binary32 without these axes.
///
/// # Errors
/// When elements are no binary32.
pub fn spanning(g: &mut Graph<'_>, x: Value, axes: &[usize], Interval { low, high }: Interval, least: f64) -> Result<[Value; 2], Error> {
    use super::reduction::{Axes, reduce};
    let smallest = reduce(g, x, Reduction::Min, axes, Axes::Dropped)?;
    let largest = reduce(g, x, Reduction::Max, axes, Axes::Dropped)?;
    let propagate_min = |terms: &mut Terms, a: Node, b: Node| terms.op(ScalarOp::Min(NanRule::Propagate), &[a, b]);
    let propagate_max = |terms: &mut Terms, a: Node, b: Node| terms.op(ScalarOp::Max(NanRule::Propagate), &[a, b]);
    let scale = g.compute::<Error>(&[smallest, largest], |terms, x| {
        let zero = terms.f32(0.0);
        let (bottom, top) = (propagate_min(terms, x[0], zero)?, propagate_max(terms, x[1], zero)?);
        let span = terms.sub(top, bottom)?;
        let steps = terms.constant(Scalar::float(F32, high.saturating_sub(low) as f64));
        let scale = terms.div(span, steps)?;
        let least = terms.constant(Scalar::float(F32, least));
        Ok(propagate_max(terms, scale, least)?)
    })?;
    let zero_point = g.compute::<Error>(&[smallest, scale], |terms, x| {
        let zero = terms.f32(0.0);
        let bottom = propagate_min(terms, x[0], zero)?;
        let steps = terms.div(bottom, x[1])?;
        let rounded = terms.op(ScalarOp::RoundEven, &[steps])?;
        let (low, high) = (terms.constant(Scalar::float(F32, low as f64)), terms.constant(Scalar::float(F32, high as f64)));
        let point = terms.sub(low, rounded)?;
        let above = terms.max(point, low)?;
        Ok(terms.min(above, high)?)
    })?;
    Ok([scale, zero_point])
}

/// The scale at which floats along axes span a range of integers around the middle one, and this integer as zero point. The scale is at
/// least `least`. Both are binary32 without these axes. With `to_ends`, each side of zero gets a scale, and the larger one is taken.
/// Otherwise half the integers are for the larger side.
///
/// # Errors
/// When elements are no binary32.
pub fn centred(
    g: &mut Graph<'_>,
    x: Value,
    axes: &[usize],
    Interval { low, high }: Interval,
    least: f64,
    to_ends: bool,
) -> Result<[Value; 2], Error> {
    use super::reduction::{Axes, reduce};
    let smallest = reduce(g, x, Reduction::Min, axes, Axes::Dropped)?;
    let largest = reduce(g, x, Reduction::Max, axes, Axes::Dropped)?;
    let half = high.saturating_sub(low) as f64 / 2.0;
    let (below, above) = if to_ends { (low as f64, high as f64) } else { (-half, half) };
    let scale = g.compute::<Error>(&[smallest, largest], |terms, x| {
        let larger = |terms: &mut Terms, a: Node, b: Node| terms.op(ScalarOp::Max(NanRule::Propagate), &[a, b]);
        let [zero, below, above, least] = [0.0, below, above, least].map(|number| terms.constant(Scalar::float(F32, number)));
        let bottom = terms.op(ScalarOp::Min(NanRule::Propagate), &[x[0], zero])?;
        let top = larger(terms, x[1], zero)?;
        let (below, above) = (terms.div(bottom, below)?, terms.div(top, above)?);
        let scale = larger(terms, below, above)?;
        Ok(larger(terms, scale, least)?)
    })?;
    let middle = high.saturating_add(low).saturating_add(1) / 2;
    let zero_point = g.filled(Scalar::float(F32, middle as f64), &g.extents(scale))?;
    Ok([scale, zero_point])
}

#[cfg(test)]
mod tests;
