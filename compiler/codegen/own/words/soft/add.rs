//! Addition of floats.

use super::parts::{Pair, Parts, any, both, either, infinity, normalized, not, rounded, shift, shift_sticky, unless_nan};
use crate::own::words::long;
use crate::own::words::ops::{Operand, Ops, Test, WordOp};
use crate::support::Format;
use modelc_kernel::{BinaryOp, CompareOp};

/// Computes the sum of two floats.
pub(super) fn sum<O: Ops>(ops: &mut O, format: Format, a: Pair<O>, b: Pair<O>) -> Pair<O> {
    let (one, other) = (Parts::of(ops, format, a), Parts::of(ops, format, b));
    // The operand with the larger magnitude comes first.
    let swapped = ops.long_less(false, one.magnitude, other.magnitude);
    let pick = |ops: &mut O, yes, no| ops.choose(Test::not_zero(swapped), yes, no);
    let (sign, small_sign) = (pick(ops, other.sign, one.sign), pick(ops, one.sign, other.sign));
    let (exponent, small_exponent) = (pick(ops, other.exponent, one.exponent), pick(ops, one.exponent, other.exponent));
    let large = long::choose(ops, swapped, other.mantissa, one.mantissa);
    let small = long::choose(ops, swapped, one.mantissa, other.mantissa);
    let (whole, magnitude) = (long::choose(ops, swapped, b, a), long::choose(ops, swapped, other.magnitude, one.magnitude));
    let least = long::choose(ops, swapped, one.magnitude, other.magnitude);
    // The sum needs one more bit above the leading one. There are enough bits below.
    let large = shift(ops, BinaryOp::ShiftRightUnsigned, large, 1);
    let small = shift(ops, BinaryOp::ShiftRightUnsigned, small, 1);
    let distance = ops.two(WordOp::Sub, exponent, Operand::Word(small_exponent));
    let small = shift_sticky(ops, small, distance);
    let differ = ops.two(WordOp::Xor, sign, Operand::Word(small_sign));
    let differ = ops.shift(WordOp::Right, differ, 31);
    let (more, less) = (ops.long_sum(false, large, small), ops.long_sum(true, large, small));
    let total = long::choose(ops, differ, less, more);
    let exponent = ops.two(WordOp::Add, exponent, Operand::Number(1));
    let (exponent, mantissa) = normalized(ops, exponent, total);
    // A sum of zero has the sign that both operands have, else it is positive.
    let common = ops.two(WordOp::And, sign, Operand::Word(small_sign));
    let is_zero = long::compare(ops, CompareOp::Equal, large, small);
    let is_zero = both(ops, is_zero, differ);
    let has_bits = any(ops, large);
    let none = not(ops, has_bits);
    let is_zero = either(ops, is_zero, none);
    let sign = ops.choose(Test::not_zero(is_zero), common, sign);
    let found = rounded(ops, format, sign, exponent, mantissa);
    // Infinity stays infinity; infinity minus infinity is a NaN.
    let limit = infinity(ops, format);
    let is_finite = ops.long_less(false, magnitude, limit);
    let found = long::choose(ops, is_finite, found, whole);
    let is_nan = ops.long_less(false, limit, magnitude);
    let infinities = long::compare(ops, CompareOp::Equal, least, limit);
    let none = both(ops, infinities, differ);
    let is_nan = either(ops, is_nan, none);
    unless_nan(ops, format, is_nan, found)
}
