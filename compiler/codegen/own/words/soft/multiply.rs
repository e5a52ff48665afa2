//! Multiplication of floats.

use super::parts::{Pair, Parts, any, both, either, normalized, rounded, signed_infinity, unless_nan};
use crate::own::words::long;
use crate::own::words::ops::{Operand, Ops, WordOp};
use crate::support::Format;

/// Computes the high 64 bits of a product. The lowest bit is also set if any dropped bit is set.
fn high_product<O: Ops>(ops: &mut O, a: Pair<O>, b: Pair<O>) -> Pair<O> {
    let zero = ops.word(0);
    let low = ops.long_product(false, a[0], b[0]);
    let (one, other) = (ops.long_product(false, a[0], b[1]), ops.long_product(false, a[1], b[0]));
    let high = ops.long_product(false, a[1], b[1]);
    // The middle word is the sum of three words, with a carry.
    let middle = ops.long_sum(false, [one[0], zero], [other[0], zero]);
    let middle = ops.long_sum(false, middle, [low[1], zero]);
    let high = ops.long_sum(false, high, [one[1], zero]);
    let high = ops.long_sum(false, high, [other[1], zero]);
    let high = ops.long_sum(false, high, [middle[1], zero]);
    let sticky = any(ops, [low[0], middle[0]]);
    [ops.two(WordOp::Or, high[0], Operand::Word(sticky)), high[1]]
}

/// Computes the product of two floats.
pub(super) fn product<O: Ops>(ops: &mut O, format: Format, a: Pair<O>, b: Pair<O>) -> Pair<O> {
    let (one, other) = (Parts::of(ops, format, a), Parts::of(ops, format, b));
    let sign = ops.two(WordOp::Xor, one.sign, Operand::Word(other.sign));
    let exponent = ops.two(WordOp::Add, one.exponent, Operand::Word(other.exponent));
    let exponent = ops.two(WordOp::Add, exponent, Operand::Number(1 - format.bias()));
    let mantissa = high_product(ops, one.mantissa, other.mantissa);
    let (exponent, mantissa) = normalized(ops, exponent, mantissa);
    let found = rounded(ops, format, sign, exponent, mantissa);
    let (infinite_a, infinite_b) = (one.is_infinite(ops, format), other.is_infinite(ops, format));
    let (zero_a, zero_b) = (one.is_zero(ops), other.is_zero(ops));
    let has_infinite = either(ops, infinite_a, infinite_b);
    let has_zero = either(ops, zero_a, zero_b);
    let most = signed_infinity(ops, format, sign);
    let found = long::choose(ops, has_infinite, most, found);
    let is_nan = one.is_either_nan(ops, format, &other);
    let none = both(ops, has_infinite, has_zero);
    let is_nan = either(ops, is_nan, none);
    unless_nan(ops, format, is_nan, found)
}
