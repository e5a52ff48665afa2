//! Softmax and its logarithm of 8-bit integers in fixed point, as TFLite's reference has them. Exponentials come from a table of the 256 differences
//! from the row's maximum.

use crate::ir::{Comparison, Constant, ElementType, Interval, Node, Reduction, ScalarOp, Value};
use crate::operators::fixed;
use crate::operators::fixed_point::{divide_by_power_of_two, exp_of_negative, multiply_high};
use crate::operators::quantization::{Multiplier, integer_range, multiplier};
use crate::operators::terms::{Term, Terms, number};
use crate::operators::{Error, Graph};
use ElementType::{I32, U32};

/// Integer bits of a scaled difference from the row's maximum.
const DIFFERENCE_BITS: u32 = 5;
/// Integer bits of the sum of exponentials.
const SUM_BITS: u32 = 12;

/// Exponentials of differences from −255 to 0, each times a factor, without integer bits; zero where the reference leaves them out. Without a factor
/// every difference vanishes.
fn exponentials(factor: Option<Multiplier>) -> Vec<i32> {
    let Some(factor) = factor else { return vec![exp_of_negative(0); 256] };
    let smallest = smallest_difference(factor);
    let exponential = |difference: i32| if difference < smallest { 0 } else { exp_of_negative(scaled_difference(difference, factor)) };
    (-255..=0).map(exponential).collect()
}

/// The factor that brings a difference to [`DIFFERENCE_BITS`] integer bits. `None` if it is not above 1, as in untrained networks. LiteRT's optimized
/// kernels then compute with floats, in which all exponentials round to 1.
///
/// # Errors
/// [`Error::ScaleTimesBeta`] if the product is negative or not finite.
fn difference_factor(scale: f32, beta: f32) -> Result<Option<Multiplier>, Error> {
    let error = || Error::ScaleTimesBeta { scale, beta };
    let product = f64::from(beta) * f64::from(scale);
    if !(0.0..f64::INFINITY).contains(&product) {
        return Err(error());
    }
    let real = (product * f64::from(1 << (31 - DIFFERENCE_BITS))).min(f64::from(u32::MAX >> 1));
    if real > 1.0 { Multiplier::from_real(real).map(Some).ok_or_else(error) } else { Ok(None) }
}

/// The smallest difference that fits [`DIFFERENCE_BITS`] integer bits.
fn smallest_difference(factor: Multiplier) -> i32 {
    let largest = f64::from((1 << DIFFERENCE_BITS) - 1) * f64::from(1 << (31 - DIFFERENCE_BITS)) / (1u64 << factor.shift) as f64;
    -(largest as i32)
}

/// A difference with [`DIFFERENCE_BITS`] integer bits.
fn scaled_difference(difference: i32, factor: Multiplier) -> i32 {
    multiply_high(difference.wrapping_shl(factor.shift as u32), factor.mantissa)
}

/// Softmax of the last dimension of 8-bit integers on a scale, times `beta`, in 8 or 16 bits; differences are below 32.
///
/// # Errors
/// [`Error::ScaleTimesBeta`] where the scale times beta is negative or not finite.
pub fn softmax(g: &mut Graph<'_>, input: Value, scale: f32, beta: f32, output: ElementType) -> Result<Value, Error> {
    let error = || Error::ScaleTimesBeta { scale, beta };
    let element = g.element(input);
    let table = exponentials(difference_factor(scale, beta)?);
    let table = by_byte(g, element, &table);
    let axis = vec![g.rank(input).saturating_sub(1)];
    let largest = g.builder.reduce(input, Reduction::Max, axis.clone())?;
    let mut terms = Terms::new(&[element, element]);
    let exponential = look_up(&mut terms, table)?;
    let exponentials = g.map(&[input, largest], terms.finish(exponential))?;
    let mut terms = Terms::new(&[I32]);
    let addend = addend(&mut terms)?;
    let addends = g.map(&[exponentials], terms.finish(addend))?;
    let sum = g.builder.reduce(addends, Reduction::Sum, axis)?;

    let mut terms = Terms::new(&[I32]);
    let row = reciprocal(&mut terms, output)?;
    let row = g.map_many(&[sum], terms.finish_many(row.to_vec()))?;

    let range = integer_range(output).ok_or_else(error)?;
    let mut terms = Terms::new(&[I32, I32, U32, U32]);
    let quotient = quotient(&mut terms)?;
    let lowest_term = terms.i32(range.low);
    let shifted = terms.add(quotient, lowest_term)?;
    let clamped = terms.clamp_i32(shifted, range)?;
    let result = terms.convert(clamped, output);
    g.map(&[exponentials, row[0], row[1], row[2]], terms.finish(result))
}

/// A table with an entry for each difference from −255 to 0, in the order in which [`look_up`] reads it.
fn by_byte(g: &mut Graph<'_>, element: ElementType, entries: &[i32]) -> Constant {
    let first = if element.is_signed_integer() { 128 } else { 0 };
    let order = (0..256).map(|index| usize::from((index as u8).wrapping_sub(first)));
    let bytes = order.flat_map(|distance| entries[255 - distance].to_le_bytes()).collect();
    g.table(I32, bytes)
}

/// The table's entry for input 0 − input 1. The distance between the two fits a byte, so the difference is one of bytes.
fn look_up(terms: &mut Terms, table: Constant) -> Term {
    let (x, largest) = (terms.input(0), terms.input(1));
    let distance = terms.sub(largest, x)?;
    let is_signed = terms.ty(distance).is_signed_integer();
    let mut index = terms.convert(distance, I32);
    if is_signed {
        let zero = terms.i32(128);
        index = terms.add(index, zero)?;
    }
    Ok(terms.lut(table, I32, index))
}

/// An exponential (input 0) with [`SUM_BITS`] integer bits, rounded.
fn addend(terms: &mut Terms) -> Term {
    let exponential = terms.input_as(0, U32);
    let (half, bits) = (number(terms, U32, 1 << (SUM_BITS - 1)), number(terms, U32, SUM_BITS.into()));
    let rounded = terms.add(exponential, half)?;
    let addend = terms.op(ScalarOp::ShiftRight, &[rounded, bits])?;
    Ok(terms.convert(addend, I32))
}

/// Three numbers for a sum (input 0). The first is its reciprocal without integer bits. The second is half of the divisor that brings a product with
/// it to the output's range. The third is the logarithm of this divisor. A divisor above 2³¹ makes every product 0.
fn reciprocal(terms: &mut Terms, output: ElementType) -> Result<[Node; 3], Error> {
    let sum = terms.input(0);
    let headroom = terms.op(ScalarOp::CountLeadingZeros, &[sum])?;
    let (zero, one, most) = (terms.i32(0), terms.i32(1), terms.i32(31));
    let bits = terms.min(headroom, most)?;
    let normalised = terms.op(ScalarOp::ShiftLeft, &[sum, bits])?;
    // Subtracting 2³¹ clears the top bit, which leaves the fraction of a sum in 1..2.
    let top = terms.i32(i32::MIN);
    let fraction = terms.sub(normalised, top)?;
    let reciprocal = fixed::one_over_one_plus_fraction(terms, fraction)?;
    let base = terms.i32(SUM_BITS as i32 + 31 - output.bits() as i32);
    let exponent = terms.sub(base, headroom)?;
    let vanishes = terms.compare(Comparison::Greater, exponent, most)?;
    let reciprocal = terms.select(vanishes, zero, reciprocal)?;
    let exponent = terms.clamp_i32(exponent, Interval::new(1, 31))?;
    let below = terms.sub(exponent, one)?;
    let half = terms.op(ScalarOp::ShiftLeft, &[one, below])?;
    Ok([reciprocal, terms.convert(half, U32), terms.convert(exponent, U32)])
}

/// An exponential (input 0) times the reciprocal of the sum (input 1), divided by a power of two (inputs 2 and 3). Each step rounds as in the
/// reference. Nothing is negative, so the second one adds half of the divisor.
fn quotient(terms: &mut Terms) -> Term {
    let [exponential, reciprocal, half, exponent] = [0, 1, 2, 3].map(|input| terms.input(input));
    let (zero, most) = (terms.i32(0), number(terms, U32, 31));
    // This tells that no product saturates, and that the shift is in range.
    let reciprocal = terms.max(reciprocal, zero)?;
    let exponent = terms.min(exponent, most)?;
    let product = terms.op(ScalarOp::SaturatingRoundingDoublingHighMul, &[reciprocal, exponential])?;
    let product = terms.convert(product, U32);
    let rounded = terms.add(product, half)?;
    let quotient = terms.op(ScalarOp::ShiftRight, &[rounded, exponent])?;
    Ok(terms.convert(quotient, I32))
}

/// Results count in sixteenths down from the largest integer: differences from the row's maximum less the logarithm, with four integer
/// bits. Differences that would leave the range with the logarithm give the smallest integer.
///
/// # Errors
/// [`Error::ScaleTimesBeta`] where the scale is not finite.
pub fn log_softmax(g: &mut Graph<'_>, input: Value, scale: f32) -> Result<Value, Error> {
    const RESULT_BITS: i32 = 4;
    let element = g.element(input);
    let axis = vec![g.rank(input).saturating_sub(1)];
    let error = || Error::ScaleTimesBeta { scale, beta: 1.0 };
    let factor = difference_factor(scale, 1.0)?;
    let table = exponentials(factor);
    let addends: Vec<i32> = table.iter().map(|&n| divide_by_power_of_two(n, SUM_BITS)).collect();
    let addends = by_byte(g, element, &addends);
    let scaled = |difference| factor.map_or(0, |factor| scaled_difference(difference, factor));
    let scaled: Vec<i32> = (-255..=0).map(scaled).collect();
    let scaled = by_byte(g, element, &scaled);

    let largest = g.builder.reduce(input, Reduction::Max, axis.clone())?;
    let mut terms = Terms::new(&[element, element]);
    let addend = look_up(&mut terms, addends)?;
    let addends = g.map(&[input, largest], terms.finish(addend))?;
    let sums = g.builder.reduce(addends, Reduction::Sum, axis)?;

    let mut terms = Terms::new(&[I32]);
    let sum = terms.input(0);
    let logarithm = fixed::logarithm(&mut terms, sum, SUM_BITS as i32, DIFFERENCE_BITS as i32)?;
    let least = match factor {
        Some(factor) => least_difference(&mut terms, logarithm, factor)?,
        // Below every difference.
        None => terms.i32(-256),
    };
    let row = g.map_many(&[sums], terms.finish_many(vec![logarithm, least]))?;

    let range = integer_range(element).ok_or_else(error)?;
    let mut terms = Terms::new(&[element, element, I32, I32]);
    let (x, top, logarithm, least) = (terms.input_as(0, I32), terms.input_as(1, I32), terms.input(2), terms.input(3));
    let difference = terms.sub(x, top)?;
    let scaled = look_up(&mut terms, scaled)?;
    let result = terms.sub(scaled, logarithm)?;
    let result = fixed::divide(&mut terms, result, 31 - DIFFERENCE_BITS as i32 - RESULT_BITS)?;
    let zero = terms.i32(range.high);
    let result = terms.add(result, zero)?;
    let result = terms.clamp_i32(result, range)?;
    let (fits, smallest) = (terms.compare(Comparison::Greater, difference, least)?, terms.i32(range.low));
    let result = terms.select(fits, result, smallest)?;
    let result = terms.convert(result, element);
    g.map(&[input, largest, row[0], row[1]], terms.finish(result))
}

/// The smallest difference that the logarithm of a row leaves room for.
fn least_difference(terms: &mut Terms, logarithm: Node, factor: Multiplier) -> Result<Node, Error> {
    // A mantissa is 2³⁰ or more, so the ratio is finite.
    let inverse = multiplier(2f64.powi(31 - factor.shift) / f64::from(factor.mantissa))?;
    let lowest = terms.i32(i32::MIN);
    let room = terms.add(logarithm, lowest)?;
    let least = terms.requantize_by(room, inverse)?;
    let bound = terms.i32(smallest_difference(factor) - 1);
    Ok(terms.max(bound, least)?)
}
