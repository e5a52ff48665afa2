//! SOFTMAX: floats, and the reference's fixed-point form for 8-bit inputs.

use super::convolution::missing_options;
use super::operator::{Lowered, Operand, Operator, invalid};
use crate::diagnostic::Diagnostic;
use crate::frontend::fixed_point::{divide_by_power_of_two, exp_of_negative, multiply_high};
use crate::frontend::quantization::{Multiplier, integer_range};
use crate::frontend::terms::{Term, Terms};
use crate::ir::{Comparison, Constant, ElementType, Node, ScalarOp, Value};
use ElementType::{F32, I8, I16, I32, U8};

/// Integer bits of a scaled difference from the row's maximum.
const DIFFERENCE_BITS: u32 = 5;
/// Integer bits of the sum of exponentials.
const SUM_BITS: u32 = 12;

/// SOFTMAX over the last dimension.
pub(super) fn softmax(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let options = operator.record.builtin_options_as_softmax_options().ok_or_else(missing_options)?;
    let (input, output) = (operator.input(0)?, operator.output(0)?);
    if input.rank() == 0 || input.shape.last() == Some(&0) {
        return Err(
            invalid(314, "the input must have a last dimension that is not empty").expected("rank 1 or more", format!("{:?}", input.shape))
        );
    }
    let types = [input.element(), output.element];
    let result = match types {
        [F32, F32] => float(operator, &input, options.beta())?,
        [I8, I8 | I16] | [U8, U8 | I16] => integer(operator, &input, output.element, options.beta())?,
        _ => return Err(operator.type_error(&types)),
    };
    operator.bind(0, result)
}

fn float(operator: &mut Operator<'_, '_, '_>, input: &Operand, beta: f32) -> Result<Value, Diagnostic> {
    let axis = vec![input.rank() as i64 - 1];
    let largest = operator.builder().reduce(input.value, "max", axis.clone())?;
    let mut terms = Terms::new(&[F32, F32]);
    let (x, largest_term) = (terms.input(0), terms.input(1));
    let mut difference = terms.sub(x, largest_term)?;
    if beta != 1.0 {
        let beta = terms.f32(beta);
        difference = terms.mul(difference, beta)?;
    }
    let exponential = terms.op(ScalarOp::Exp, &[difference])?;
    let exponentials = operator.map(&[input.value, largest], terms.finish(exponential))?;
    let sum = operator.builder().reduce(exponentials, "sum", axis)?;
    let mut terms = Terms::new(&[F32, F32]);
    let (x, sum_term) = (terms.input(0), terms.input(1));
    let quotient = terms.div(x, sum_term)?;
    operator.map(&[exponentials, sum], terms.finish(quotient))
}

/// Exponentials of `difference × scale × beta` for differences from −255 to 0, without integer bits; zero where the reference
/// leaves them out.
fn exponentials(scale: f32, beta: f32) -> Option<Vec<i32>> {
    let real = (f64::from(beta) * f64::from(scale) * f64::from(1 << (31 - DIFFERENCE_BITS))).min(f64::from(u32::MAX >> 1));
    let factor = Multiplier::from_real(real).filter(|_| real > 1.0)?;
    let largest = f64::from((1 << DIFFERENCE_BITS) - 1) * f64::from(1 << (31 - DIFFERENCE_BITS)) / (1u64 << factor.shift) as f64;
    let smallest_difference = -(largest as i32);
    let exponential = |difference: i32| {
        if difference < smallest_difference {
            return 0;
        }
        exp_of_negative(multiply_high(difference.wrapping_shl(factor.shift as u32), factor.mantissa))
    };
    Some((-255..=0).map(exponential).collect())
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
    let axis = vec![input.rank() as i64 - 1];
    let largest = operator.builder().reduce(input.value, "max", axis.clone())?;
    let mut terms = Terms::new(&[element, element]);
    let addend = look_up(&mut terms, addends)?;
    let addends = operator.map(&[input.value, largest], terms.finish(addend))?;
    let sum = operator.builder().reduce(addends, "sum", axis)?;

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
fn look_up(terms: &mut Terms, table: Constant) -> Term {
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
    let reciprocal = one_over_one_plus(terms, fraction)?;
    let base = terms.i32(SUM_BITS as i32 + 31 - output.bits() as i32);
    let exponent = terms.sub(base, headroom)?;
    Ok((reciprocal, exponent))
}

/// 1 ÷ (1 + x) for x in 0..1 without integer bits, by three Newton steps from 48⁄17 − 32⁄17 · d with d = (1 + x) ÷ 2.
fn one_over_one_plus(terms: &mut Terms, x: Node) -> Term {
    const FORTY_EIGHT_SEVENTEENTHS: i32 = 1_515_870_810;
    const MINUS_THIRTY_TWO_SEVENTEENTHS: i32 = -1_010_580_540;
    let multiply = |terms: &mut Terms, a: Node, b: Node| terms.op(ScalarOp::SaturatingRoundingDoublingHighMul, &[a, b]);
    let half = half_sum_with_one(terms, x)?;
    let (start, slope, one) = (terms.i32(FORTY_EIGHT_SEVENTEENTHS), terms.i32(MINUS_THIRTY_TWO_SEVENTEENTHS), terms.i32(1 << 29));
    let product = multiply(terms, half, slope)?;
    let mut estimate = terms.add(start, product)?;
    for _ in 0..3 {
        let product = multiply(terms, half, estimate)?;
        let rest = terms.sub(one, product)?;
        let correction = multiply(terms, estimate, rest)?;
        let correction = saturating_shift_left(terms, correction, 2)?;
        estimate = terms.add(estimate, correction)?;
    }
    saturating_shift_left(terms, estimate, 1)
}

/// (x + (2³¹ − 1)) ÷ 2 rounded away from zero; x is not negative.
fn half_sum_with_one(terms: &mut Terms, x: Node) -> Term {
    let (x, one, largest) = (terms.convert(x, ElementType::I64), terms.i64(1), terms.i64(i64::from(i32::MAX)));
    let sum = terms.add(x, largest)?;
    let sum = terms.add(sum, one)?;
    let half = terms.op(ScalarOp::ShiftRight, &[sum, one])?;
    Ok(terms.convert(half, I32))
}

fn saturating_shift_left(terms: &mut Terms, x: Node, count: i32) -> Term {
    let limit = (1 << (31 - count)) - 1;
    let (above, below, count) = (terms.i32(limit), terms.i32(-limit), terms.i32(count));
    let (largest, smallest) = (terms.i32(i32::MAX), terms.i32(i32::MIN));
    let shifted = terms.op(ScalarOp::ShiftLeft, &[x, count])?;
    let over = terms.compare(Comparison::Greater, x, above)?;
    let under = terms.compare(Comparison::Less, x, below)?;
    let result = terms.select(over, largest, shifted)?;
    terms.select(under, smallest, result)
}
