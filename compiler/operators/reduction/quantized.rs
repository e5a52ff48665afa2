//! Sums and means of quantized integers, brought to another scale in fixed point as TFLite's reference does.

use super::{Axes, count, reduce};
use crate::ir::{Comparison, ElementType, Extent, Reduction, ScalarOp, Value};
use crate::operators::quantization::{Affine, Multiplier, integer_range, multiplier};
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph};
use ElementType::{I32, I64};

/// A conversion from one scale to another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rescaling {
    /// The quantization of the operand.
    pub from: Affine,
    /// The quantization of the result.
    pub to: Affine,
    /// Type of the result.
    pub element: ElementType,
}

/// The conversion of sums to results: `(sum − offset) × factor`.
enum Step {
    /// Static numbers.
    Known(i32, Multiplier),
    /// Run-time numbers that follow from the number of elements: the offset, and the factor's mantissa and shift, one integer each.
    Measured([Value; 3]),
}

impl Rescaling {
    fn ratio(&self) -> Result<Multiplier, Error> {
        multiplier(f64::from(self.from.scale) / f64::from(self.to.scale))
    }

    /// The sum of `count` zero points, wrapped to 32 bits.
    fn offset(&self, count: u64) -> i32 {
        i64::from(self.from.zero_point).wrapping_mul(count as i64) as i32
    }

    /// `(x − offset) × factor + zero point` of 32-bit integers, clamped to the element.
    fn apply(&self, g: &mut Graph<'_>, value: Value, step: &Step) -> Result<Value, Error> {
        let bounds = integer_range(self.element).ok_or(Error::NotQuantized { element: self.element })?;
        let operands = match step {
            Step::Known(..) => vec![value],
            Step::Measured(numbers) => [&[value], &numbers[..]].concat(),
        };
        g.compute(&operands, |terms, x| {
            let offset = if let Step::Known(offset, _) = step { terms.i32(*offset) } else { x[1] };
            let zero_point = terms.i32(self.to.zero_point);
            let sum = terms.sub(x[0], offset)?;
            let scaled = match step {
                Step::Known(_, factor) => terms.requantize_by(sum, *factor)?,
                Step::Measured(_) => terms.requantize(sum, x[2], x[3])?,
            };
            let moved = terms.add(scaled, zero_point)?;
            let clamped = terms.clamp_i32(moved, bounds)?;
            Ok(terms.convert(clamped, self.element))
        })
    }

    /// Computes the offset and the factor at run time from the number of elements. With `folds`, the factor is divided by that number.
    fn measured(&self, g: &mut Graph<'_>, count: Extent, ratio: Multiplier, folds: bool) -> Result<Step, Error> {
        let most = g.bound(count);
        let count = g.extent_tensor(count, I64)?;
        let mut terms = Terms::new(&[I64]);
        let n = terms.input(0);
        let zero_point = terms.i64(self.from.zero_point.into());
        let offset = terms.mul(n, zero_point)?;
        let (mut mantissa, mut shift) = (terms.i64(ratio.mantissa.into()), terms.i64(ratio.shift.into()));
        if folds {
            let bits = counted_bits(&mut terms, n, most, most_bits(ratio))?;
            let raised = terms.op(ScalarOp::ShiftLeft, &[mantissa, bits])?;
            mantissa = terms.div(raised, n)?;
            shift = terms.sub(shift, bits)?;
        }
        let numbers = [offset, mantissa, shift].map(|number| terms.convert(number, I32));
        let values = g.map_many(&[count], terms.finish_many(numbers.to_vec()))?;
        <[Value; 3]>::try_from(values).map(Step::Measured).map_err(|_| Error::DynamicExtent)
    }
}

/// The number of bits by which a mantissa may be shifted left before it is divided.
fn most_bits(ratio: Multiplier) -> i32 {
    32.min(31 + ratio.shift).max(0)
}

/// The number of bits of a number after its first one, `limit` at most; the number is not above `most`.
fn counted_bits(terms: &mut Terms, number: crate::ir::Node, most: u64, limit: i32) -> Term {
    let mut bits = terms.i64(0);
    for power in (1..=limit.min(62)).map(|bit| 1i64 << bit).take_while(|&power| power as u64 <= most) {
        let power = terms.i64(power);
        let reached = terms.compare(Comparison::GreaterEqual, number, power)?;
        let reached = terms.convert(reached, I64);
        bits = terms.add(bits, reached)?;
    }
    Ok(bits)
}

fn sums(g: &mut Graph<'_>, input: Value, axes: &[usize]) -> Result<Value, Error> {
    let wide = g.convert(input, I32)?;
    reduce(g, wide, Reduction::Sum, axes, Axes::Kept)
}

/// A sum on another scale. The axes keep extent 1. (The reference reads signed integers as unsigned here; this is the intended result.)
///
/// # Errors
/// When the ratio of the scales is out of range.
pub fn quantized_sum(g: &mut Graph<'_>, input: Value, axes: &[usize], rescaling: &Rescaling) -> Result<Value, Error> {
    let ratio = rescaling.ratio()?;
    let step = match count(g, input, axes)? {
        Extent::Static(count) => Step::Known(rescaling.offset(count), ratio),
        count => rescaling.measured(g, count, ratio, false)?,
    };
    let sums = sums(g, input, axes)?;
    rescaling.apply(g, sums, &step)
}

/// A mean on another scale. The axes keep extent 1. The multiplier includes 1 ÷ count: its mantissa is shifted left by the count's bits, then
/// divided. With a run-time count, the program computes the multiplier.
///
/// # Errors
/// When there are no elements or too many, or the ratio of the scales is out of range.
pub fn quantized_mean(g: &mut Graph<'_>, input: Value, axes: &[usize], rescaling: &Rescaling) -> Result<Value, Error> {
    let count = count(g, input, axes)?;
    if !(1..=1 << 31).contains(&g.bound(count)) {
        return Err(Error::TooManyElements);
    }
    let ratio = rescaling.ratio()?;
    let step = match count {
        Extent::Static(count) => {
            let shift = (63 - count.leading_zeros() as i32).min(most_bits(ratio));
            let mantissa = (i64::from(ratio.mantissa) << shift) / count as i64;
            Step::Known(rescaling.offset(count), Multiplier { mantissa: mantissa as i32, shift: ratio.shift - shift })
        }
        count => {
            // The mean of no elements is none; there is no number to divide by.
            let count = g.max(count, Extent::Static(1))?;
            rescaling.measured(g, count, ratio, true)?
        }
    };
    let sums = sums(g, input, axes)?;
    rescaling.apply(g, sums, &step)
}
