//! DIV, FLOOR_DIV and FLOOR_MOD.

use super::arithmetic::clamp_plain;
use super::binary::Binary;
use super::error::invalid;
use super::operator::{Lowered, Operator};
use super::options;
use crate::diagnostic::codes;
use crate::ir::{Comparison, ElementType, Node, Scalar, ScalarOp};
use crate::operators::activation::Activation;
use crate::operators::fixed;
use crate::operators::quantization::multiplier;
use crate::operators::terms::{Term, Terms};
use ElementType::{F32, I8, I16, I32, I64, U8};

/// DIV: floats, integers towards zero, and integers on quantized scales.
pub(super) fn div(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let options = operator.record.builtin_options_as_div_options();
    let activation = options.map_or(Ok(Activation::NONE), |o| options::activation(o.fused_activation_function()))?;
    let binary = Binary::new(operator)?;
    match binary.types() {
        [F32, F32, F32] | [I32, I32, I32] => binary.bind(operator, |terms, a, b| {
            let quotient = terms.div(a, b)?;
            clamp_plain(terms, quotient, activation)
        }),
        [I8, I8, I8] | [U8, U8, U8] | [I16, I16, I16] if binary.is_quantized() => quantized_quotient(operator, &binary, activation),
        types => Err(operator.type_error(&types)),
    }
}

/// The dividend at full 32 bits times the divisor's reciprocal in fixed point, then times the ratio of the scales. Every factor's power of two goes
/// into one last shift. Both change sign where the divisor is negative.
fn quantized_quotient(operator: &mut Operator<'_, '_, '_>, binary: &Binary, activation: Activation) -> Lowered {
    let [left, right, output] = binary.quantizations(operator)?;
    if binary.output.element == I16 && [left, right, output].iter().any(|q| q.zero_point != 0) {
        return Err(invalid(codes::ZERO_POINT, "zero points of 16-bit tensors must be 0"));
    }
    // The reference computes this ratio in binary32.
    let factor = multiplier(f64::from(left.scale / (right.scale * output.scale)))?;
    let bounds = activation.integer_bounds(binary.output.element, output)?;
    binary.bind(operator, |terms, a, b| {
        let (a, b) = (terms.convert(a, I32), terms.convert(b, I32));
        let (from, by, zero) = (terms.i32(left.zero_point), terms.i32(right.zero_point), terms.i32(0));
        let (a, b) = (terms.sub(a, from)?, terms.sub(b, by)?);
        let negative = terms.compare(Comparison::Less, b, zero)?;
        let (minus_a, minus_b) = (terms.op(ScalarOp::Neg, &[a])?, terms.op(ScalarOp::Neg, &[b])?);
        let (a, b) = (terms.select(negative, minus_a, a)?, terms.select(negative, minus_b, b)?);
        let (reciprocal, right_shift) = reciprocal(terms, b)?;
        let headroom = sign_bits(terms, a)?;
        let normal = terms.op(ScalarOp::ShiftLeft, &[a, headroom])?;
        let quotient = fixed::multiply(terms, normal, reciprocal)?;
        let mantissa = terms.i32(factor.mantissa);
        let quotient = fixed::multiply(terms, quotient, mantissa)?;
        let count = terms.add(right_shift, headroom)?;
        let shift = terms.i32(factor.shift);
        let count = terms.sub(count, shift)?;
        let x = divide_by_power(terms, quotient, count)?;
        let zero_point = terms.i32(output.zero_point);
        let x = terms.add(x, zero_point)?;
        let x = terms.clamp_i32(x, bounds)?;
        Ok(terms.convert(x, binary.output.element))
    })
}

/// x ÷ 2^count, rounded. The reference's machine shifts by the count's low five bits. A count beyond them gives a mask of all ones for the remainder.
/// This remainder is above its half unless x is negative.
fn divide_by_power(terms: &mut Terms, x: Node, count: Node) -> Term {
    let (most, zero) = (terms.i32(31), terms.i32(0));
    let low = terms.op(ScalarOp::And, &[count, most])?;
    let rounded = terms.op(ScalarOp::RoundingDivideByPowerOfTwo, &[x, low])?;
    let not_negative = terms.compare(Comparison::GreaterEqual, x, zero)?;
    let one = terms.convert(not_negative, I32);
    let shifted = terms.op(ScalarOp::ShiftRight, &[x, low])?;
    let beyond = terms.add(shifted, one)?;
    let within = terms.compare(Comparison::Equal, low, count)?;
    terms.select(within, rounded, beyond)
}

/// 1 ÷ x of a whole number above zero: a fraction without integer bits, and its right shift.
fn reciprocal(terms: &mut Terms, x: Node) -> Result<(Node, Node), crate::ir::scalar::ExpressionError> {
    let zeros = terms.op(ScalarOp::CountLeadingZeros, &[x])?;
    let normal = terms.op(ScalarOp::ShiftLeft, &[x, zeros])?;
    // Subtracting 2³¹ clears the top bit, which leaves the fraction of a number in 1..2.
    let top = terms.i32(i32::MIN);
    let fraction = terms.sub(normal, top)?;
    let most = terms.i32(31);
    Ok((fixed::one_over_one_plus(terms, fraction)?, terms.sub(most, zeros)?))
}

/// The number of bits after the sign that repeat it.
fn sign_bits(terms: &mut Terms, x: Node) -> Term {
    let (all, one) = (terms.i32(31), terms.i32(1));
    let sign = terms.op(ScalarOp::ShiftRight, &[x, all])?;
    let magnitude = terms.op(ScalarOp::Xor, &[x, sign])?;
    let zeros = terms.op(ScalarOp::CountLeadingZeros, &[magnitude])?;
    terms.sub(zeros, one)
}

/// FLOOR_DIV, towards −∞.
pub(super) fn floor_div(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let binary = Binary::new(operator)?;
    match binary.types() {
        [F32, F32, F32] => binary.bind(operator, |terms, a, b| {
            let quotient = terms.div(a, b)?;
            terms.op(ScalarOp::Floor, &[quotient])
        }),
        [I32, I32, I32] | [I16, I16, I16] | [I8, I8, I8] => binary.bind(operator, |terms, a, b| {
            let (quotient, inexact) = (terms.div(a, b)?, inexact_and_opposed(terms, a, b)?);
            let one = terms.constant(Scalar::int(terms.ty(a), 1));
            let below = terms.sub(quotient, one)?;
            terms.select(inexact, below, quotient)
        }),
        types => Err(operator.type_error(&types)),
    }
}

/// FLOOR_MOD: the remainder with the divisor's sign.
pub(super) fn floor_mod(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let binary = Binary::new(operator)?;
    match binary.types() {
        [F32, F32, F32] | [I8, I8, I8] | [I16, I16, I16] | [I32, I32, I32] | [I64, I64, I64] => binary.bind(operator, |terms, a, b| {
            let (remainder, opposed) = (terms.op(ScalarOp::Rem, &[a, b])?, inexact_and_opposed(terms, a, b)?);
            let moved = terms.add(remainder, b)?;
            terms.select(opposed, moved, remainder)
        }),
        types => Err(operator.type_error(&types)),
    }
}

/// Tests whether a ÷ b has a remainder whose sign differs from b's.
fn inexact_and_opposed(terms: &mut Terms, a: Node, b: Node) -> Term {
    let remainder = terms.op(ScalarOp::Rem, &[a, b])?;
    let zero = terms.constant(Scalar::int(terms.ty(a), 0));
    let inexact = terms.compare(Comparison::NotEqual, remainder, zero)?;
    let (negative_rest, negative_divisor) = (terms.compare(Comparison::Less, remainder, zero)?, terms.compare(Comparison::Less, b, zero)?);
    let opposed = terms.op(ScalarOp::Xor, &[negative_rest, negative_divisor])?;
    terms.op(ScalarOp::And, &[inexact, opposed])
}
