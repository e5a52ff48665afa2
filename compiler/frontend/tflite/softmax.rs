//! SOFTMAX: floats, and the reference's fixed-point form for 8-bit inputs; 16-bit ones are in `softmax16`.

use super::convolution::missing_options;
use super::fixed;
use super::operator::{Lowered, Operand, Operator, invalid};
use super::pooling::widen;
use crate::diagnostic::Diagnostic;
use crate::ir::{Constant, ElementType, Node, Reduction, ScalarOp, Value};
use crate::operators::fixed_point::{divide_by_power_of_two, exp_of_negative, multiply_high};
use crate::operators::quantization::{Multiplier, integer_range};
use crate::operators::terms::{Term, Terms};
use ElementType::{F16, F32, I8, I16, I32, U8};

/// Integer bits of a scaled difference from the row's maximum.
pub(super) const DIFFERENCE_BITS: u32 = 5;
/// Integer bits of the sum of exponentials.
pub(super) const SUM_BITS: u32 = 12;

/// SOFTMAX over the last dimension.
pub(super) fn softmax(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let options = operator.record.builtin_options_as_softmax_options().ok_or_else(missing_options)?;
    let (input, output) = (operator.any_input(0)?, operator.output(0)?);
    if input.rank() == 0 || input.shape.last() == Some(&0) {
        return Err(
            invalid(314, "the input must have a last dimension that is not empty").expected("rank 1 or more", format!("{:?}", input.shape))
        );
    }
    let types = [input.element(), output.element];
    let result = match types {
        [F32, F32] => float(operator, &input, options.beta(), F32)?,
        [F16, F16] => {
            let wide = Operand { value: widen(operator, input.value, F32)?, ..input };
            float(operator, &wide, options.beta(), F16)?
        }
        [I16, I16] => super::softmax16::softmax(operator, &input, options.beta())?,
        [I8, I8 | I16] | [U8, U8 | I16] => integer(operator, &input, output.element, options.beta())?,
        _ => return Err(operator.type_error(&types)),
    };
    operator.bind(0, result)
}

/// In binary32; the exponentials lie in memory, and so are rounded to the output's type, between the sum and the division.
fn float(operator: &mut Operator<'_, '_, '_>, input: &Operand, beta: f32, output: ElementType) -> Result<Value, Diagnostic> {
    let axis = vec![operator.axis(-1, input.rank())?];
    let largest = operator.builder().reduce(input.value, Reduction::Max, axis.clone())?;
    let mut terms = Terms::new(&[F32, F32]);
    let (x, largest_term) = (terms.input(0), terms.input(1));
    let mut difference = terms.sub(x, largest_term)?;
    if beta != 1.0 {
        let beta = terms.f32(beta);
        difference = terms.mul(difference, beta)?;
    }
    let exponential = terms.softmax_power(difference)?;
    let exponentials = operator.map(&[input.value, largest], terms.finish(exponential))?;
    let sum = operator.builder().reduce(exponentials, Reduction::Sum, axis)?;
    let stored = widen(operator, exponentials, output)?;
    let mut terms = Terms::new(&[output, F32]);
    let (x, sum_term) = (terms.input_as(0, F32), terms.input(1));
    let quotient = terms.div(x, sum_term)?;
    let quotient = terms.convert(quotient, output);
    operator.map(&[stored, sum], terms.finish(quotient))
}

/// Exponentials of `difference × scale × beta` for differences from −255 to 0, without integer bits; zero where the reference
/// leaves them out.
pub(super) fn exponentials(scale: f32, beta: f32) -> Option<Vec<i32>> {
    let factor = difference_factor(scale, beta)?;
    let smallest = smallest_difference(factor);
    let exponential = |difference: i32| if difference < smallest { 0 } else { exp_of_negative(scaled_difference(difference, factor)) };
    Some((-255..=0).map(exponential).collect())
}

/// What brings a difference to [`DIFFERENCE_BITS`] integer bits; `None` when that is not above 1.
pub(super) fn difference_factor(scale: f32, beta: f32) -> Option<Multiplier> {
    let real = (f64::from(beta) * f64::from(scale) * f64::from(1 << (31 - DIFFERENCE_BITS))).min(f64::from(u32::MAX >> 1));
    Multiplier::from_real(real).filter(|_| real > 1.0)
}

/// The smallest difference that still fits.
pub(super) fn smallest_difference(factor: Multiplier) -> i32 {
    let largest = f64::from((1 << DIFFERENCE_BITS) - 1) * f64::from(1 << (31 - DIFFERENCE_BITS)) / (1u64 << factor.shift) as f64;
    -(largest as i32)
}

/// A difference with [`DIFFERENCE_BITS`] integer bits.
pub(super) fn scaled_difference(difference: i32, factor: Multiplier) -> i32 {
    multiply_high(difference.wrapping_shl(factor.shift as u32), factor.mantissa)
}

fn integer(operator: &mut Operator<'_, '_, '_>, input: &Operand, output: ElementType, beta: f32) -> Result<Value, Diagnostic> {
    let affine = operator.affine(&input.info)?;
    let error =
        || invalid(304, "the input's scale times beta is out of range").expected("above 2^-26", format!("{} × {beta}", affine.scale));
    let table = exponentials(affine.scale, beta).filter(|_| beta.is_finite()).ok_or_else(error)?;
    let bytes = |entry: fn(i32) -> i32| table.iter().flat_map(|&n| entry(n).to_le_bytes()).collect::<Vec<u8>>();
    let exponentials = operator.table(I32, bytes(|n| n));
    let addends = operator.table(I32, bytes(|n| divide_by_power_of_two(n, SUM_BITS)));

    let element = input.element();
    let axis = vec![operator.axis(-1, input.rank())?];
    let largest = operator.builder().reduce(input.value, Reduction::Max, axis.clone())?;
    let mut terms = Terms::new(&[element, element]);
    let addend = look_up(&mut terms, addends)?;
    let addends = operator.map(&[input.value, largest], terms.finish(addend))?;
    let sum = operator.builder().reduce(addends, Reduction::Sum, axis)?;

    let mut terms = Terms::new(&[I32]);
    let (reciprocal, exponent) = reciprocal(&mut terms, output)?;
    let row = operator.builder().map_many(&[sum], terms.finish_many(vec![reciprocal, exponent]))?;

    let (lowest, highest) = integer_range(output).ok_or_else(error)?;
    let mut terms = Terms::new(&[element, element, I32, I32]);
    let exponential = look_up(&mut terms, exponentials)?;
    let (scale, exponent) = (terms.input(2), terms.input(3));
    let product = terms.op(ScalarOp::SaturatingRoundingDoublingHighMul, &[scale, exponential])?;
    let quotient = terms.op(ScalarOp::RoundingDivideByPowerOfTwo, &[product, exponent])?;
    let lowest_term = terms.i32(lowest);
    let shifted = terms.add(quotient, lowest_term)?;
    let clamped = terms.clamp_i32(shifted, (lowest, highest))?;
    let result = terms.convert(clamped, output);
    operator.map(&[input.value, largest, row[0], row[1]], terms.finish(result))
}

/// The table's entry at input 0 − input 1 + 255.
pub(super) fn look_up(terms: &mut Terms, table: Constant) -> Term {
    let (x, largest) = (terms.input_as(0, I32), terms.input_as(1, I32));
    let difference = terms.sub(x, largest)?;
    let last = terms.i32(255);
    let index = terms.add(difference, last)?;
    Ok(terms.lut(table, I32, index))
}

/// One over the sum (input 0), without integer bits, and the shift that brings a product with it to the output's range.
fn reciprocal(terms: &mut Terms, output: ElementType) -> Result<(Node, Node), Diagnostic> {
    let sum = terms.input(0);
    let headroom = terms.op(ScalarOp::CountLeadingZeros, &[sum])?;
    let normalised = terms.op(ScalarOp::ShiftLeft, &[sum, headroom])?;
    // Taking away 2³¹ clears the top bit: what is left is the fraction of a sum in 1..2.
    let top = terms.i32(i32::MIN);
    let fraction = terms.sub(normalised, top)?;
    let reciprocal = fixed::one_over_one_plus(terms, fraction)?;
    let base = terms.i32(SUM_BITS as i32 + 31 - output.bits() as i32);
    let exponent = terms.sub(base, headroom)?;
    Ok((reciprocal, exponent))
}
