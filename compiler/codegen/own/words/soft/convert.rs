//! Conversions between formats of floats, and between floats and integers.

use super::parts::{Pair, Parts, nan, normalized, rounded, shift, shift_by, signed, signed_infinity, unless_nan, with_sign};
use crate::own::words::long;
use crate::own::words::ops::{Operand, Ops, Test, WordOp};
use crate::support::Format;
use modelc_kernel::{BinaryOp, CompareOp, UnaryOp};

/// Converts a float to another format.
pub(super) fn between<O: Ops>(ops: &mut O, from: Format, to: Format, bits: Pair<O>) -> Pair<O> {
    let parts = Parts::of(ops, from, bits);
    let exponent = ops.two(WordOp::Add, parts.exponent, Operand::Number(to.bias() - from.bias()));
    let found = rounded(ops, to, parts.sign, exponent, parts.mantissa);
    let most = signed_infinity(ops, to, parts.sign);
    let is_infinite = parts.is_infinite(ops, from);
    let found = long::choose(ops, is_infinite, most, found);
    // A NaN keeps its sign and the highest bits of its fraction.
    let is_nan = parts.is_nan(ops, from);
    let quiet = nan(ops, to);
    let fraction = shift(ops, BinaryOp::ShiftRightUnsigned, parts.mantissa, 63 - to.fraction());
    let quiet = [0, 1].map(|half| ops.two(WordOp::Or, quiet[half], Operand::Word(fraction[half])));
    let quiet = with_sign(ops, to, quiet, parts.sign);
    long::choose(ops, is_nan, quiet, found)
}

/// Converts a 64-bit integer to a float.
pub(super) fn from_integer<O: Ops>(ops: &mut O, format: Format, is_signed: bool, a: Pair<O>) -> Pair<O> {
    let (sign, magnitude) = if is_signed {
        (ops.two(WordOp::And, a[1], Operand::Number(i32::MIN)), long::unary(ops, UnaryOp::Abs, a).unwrap_or(a))
    } else {
        (ops.word(0), a)
    };
    let exponent = ops.word(format.bias() + 63);
    let (exponent, mantissa) = normalized(ops, exponent, magnitude);
    rounded(ops, format, sign, exponent, mantissa)
}

/// Converts the magnitude of a float to an integer, rounded towards zero. The second result is 1 if the integer has more than 64 bits, else 0.
fn whole<O: Ops>(ops: &mut O, format: Format, parts: &Parts<O>) -> (Pair<O>, O::Word) {
    let power = ops.two(WordOp::Sub, parts.exponent, Operand::Number(format.bias()));
    let most = ops.word(63);
    let count = ops.two(WordOp::Sub, most, Operand::Word(power));
    let count = ops.two(WordOp::And, count, Operand::Number(63));
    let shifted = shift_by(ops, BinaryOp::ShiftRightUnsigned, parts.mantissa, count);
    let is_less = ops.truth(Test::words(CompareOp::Less, power, Operand::Number(0)));
    let zero = ops.word(0);
    let found = long::choose(ops, is_less, [zero; 2], shifted);
    (found, ops.truth(Test::words(CompareOp::Greater, power, Operand::Number(63))))
}

/// Converts a float to a signed 64-bit integer, rounded towards zero, with saturation. A NaN gives 0.
pub(super) fn to_signed<O: Ops>(ops: &mut O, format: Format, a: Pair<O>) -> Pair<O> {
    let parts = Parts::of(ops, format, a);
    let (magnitude, is_more) = whole(ops, format, &parts);
    let top = ops.shift(WordOp::Right, magnitude[1], 31);
    let is_more = ops.two(WordOp::Or, is_more, Operand::Word(top));
    let found = signed(ops, magnitude, parts.sign);
    // The limit is the largest number, or the smallest one for a negative float.
    let sign = ops.shift(WordOp::RightSigned, parts.sign, 31);
    let largest = [ops.word(-1), ops.word(i32::MAX)];
    let limit = [0, 1].map(|half| ops.two(WordOp::Xor, largest[half], Operand::Word(sign)));
    let found = long::choose(ops, is_more, limit, found);
    numbers_only(ops, format, &parts, found)
}

/// Converts a float to an unsigned 64-bit integer, rounded towards zero, with saturation. A NaN gives 0.
pub(super) fn to_unsigned<O: Ops>(ops: &mut O, format: Format, a: Pair<O>) -> Pair<O> {
    let parts = Parts::of(ops, format, a);
    let (magnitude, is_more) = whole(ops, format, &parts);
    let (zero, ones) = (ops.word(0), ops.word(-1));
    let found = long::choose(ops, is_more, [ones; 2], magnitude);
    let is_negative = ops.truth(Test::not_zero(parts.sign));
    let found = long::choose(ops, is_negative, [zero; 2], found);
    numbers_only(ops, format, &parts, found)
}

/// Replaces the result by 0 if the float is a NaN.
fn numbers_only<O: Ops>(ops: &mut O, format: Format, parts: &Parts<O>, found: Pair<O>) -> Pair<O> {
    let zero = ops.word(0);
    let is_nan = parts.is_nan(ops, format);
    long::choose(ops, is_nan, [zero; 2], found)
}

/// Rounds a float to an integer towards zero.
pub(super) fn truncated<O: Ops>(ops: &mut O, format: Format, a: Pair<O>) -> Pair<O> {
    let parts = Parts::of(ops, format, a);
    let (magnitude, _) = whole(ops, format, &parts);
    let exponent = ops.word(format.bias() + 63);
    let (exponent, mantissa) = normalized(ops, exponent, magnitude);
    let found = rounded(ops, format, parts.sign, exponent, mantissa);
    // Large floats are integers already.
    let is_whole =
        ops.truth(Test::words(CompareOp::GreaterEqual, parts.exponent, Operand::Number(format.bias() + format.fraction() as i32)));
    let found = long::choose(ops, is_whole, a, found);
    let is_nan = parts.is_nan(ops, format);
    unless_nan(ops, format, is_nan, found)
}
