//! Sums and means of quantized integers, brought to another scale in fixed point as TFLite's reference does.

use super::{Axes, count, reduce};
use crate::ir::{ElementType, Reduction, Value};
use crate::operators::quantization::{Affine, Multiplier, integer_range, multiplier};
use crate::operators::terms::Terms;
use crate::operators::{Error, Graph};
use ElementType::I32;

/// From one scale to another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rescaling {
    /// The operand's.
    pub from: Affine,
    /// The result's.
    pub to: Affine,
    /// Type of the result.
    pub element: ElementType,
}

impl Rescaling {
    fn ratio(&self) -> Result<Multiplier, Error> {
        multiplier(f64::from(self.from.scale) / f64::from(self.to.scale))
    }

    /// `(x − offset) × factor + zero point` of 32-bit integers, clamped to the element.
    fn apply(&self, g: &mut Graph<'_>, value: Value, offset: i32, factor: Multiplier) -> Result<Value, Error> {
        let bounds = integer_range(self.element).ok_or(Error::NotQuantized { element: self.element })?;
        let mut terms = Terms::new(&[I32]);
        let (x, offset, zero_point) = (terms.input(0), terms.i32(offset), terms.i32(self.to.zero_point));
        let x = terms.sub(x, offset)?;
        let x = terms.requantize_by(x, factor)?;
        let x = terms.add(x, zero_point)?;
        let x = terms.clamp_i32(x, bounds)?;
        let x = terms.convert(x, self.element);
        g.map(&[value], terms.finish(x))
    }
}

/// The number of elements of one sum, which must be known.
fn known_count(g: &mut Graph<'_>, input: Value, axes: &[usize]) -> Result<u64, Error> {
    count(g, input, axes)?.as_static().ok_or(Error::DynamicExtent)
}

/// A sum on another scale; the axes keep extent 1. (The reference takes signed integers for unsigned ones here; this is what is meant.)
///
/// # Errors
/// When the number of elements is not known, or the ratio of the scales is out of range.
pub fn quantized_sum(g: &mut Graph<'_>, input: Value, axes: &[usize], rescaling: &Rescaling) -> Result<Value, Error> {
    let count = known_count(g, input, axes)?;
    let wide = g.convert(input, I32)?;
    let sums = reduce(g, wide, Reduction::Sum, axes, Axes::Kept)?;
    let offset = i64::from(rescaling.from.zero_point).wrapping_mul(count as i64) as i32;
    rescaling.apply(g, sums, offset, rescaling.ratio()?)
}

/// A mean on another scale; the axes keep extent 1. The multiplier takes 1 ÷ count in: its mantissa is shifted up as far as the count has bits, then
/// divided.
///
/// # Errors
/// When the number of elements is not known or too large, or the ratio of the scales is out of range.
pub fn quantized_mean(g: &mut Graph<'_>, input: Value, axes: &[usize], rescaling: &Rescaling) -> Result<Value, Error> {
    let count = known_count(g, input, axes)?;
    if !(1..=1 << 31).contains(&count) {
        return Err(Error::TooManyElements);
    }
    let wide = g.convert(input, I32)?;
    let sums = reduce(g, wide, Reduction::Sum, axes, Axes::Kept)?;
    let ratio = rescaling.ratio()?;
    let shift = (63 - count.leading_zeros() as i32).min(32).min(31 + ratio.shift).max(0);
    let mantissa = (i64::from(ratio.mantissa) << shift) / count as i64;
    let factor = Multiplier { mantissa: mantissa as i32, shift: ratio.shift - shift };
    let offset = i64::from(rescaling.from.zero_point).wrapping_mul(count as i64) as i32;
    rescaling.apply(g, sums, offset, factor)
}
