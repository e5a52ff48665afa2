//! Results for special operands, for binary32 and binary64 lanes.

use super::{constant, integer_lane, mul_constant};
use crate::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, UnaryOp, Value};

/// Returns the logarithm of 0, +∞, negative numbers and NaN.
pub fn log_of_special(b: &mut KernelBuilder, x: Value, zero: Value) -> Value {
    let nan = constant(b, x, f64::NAN);
    let pole = constant(b, x, f64::NEG_INFINITY);
    let negative = b.compare(CompareOp::Less, x, zero);
    let rest = b.select(negative, nan, x);
    let is_zero = b.compare(CompareOp::Equal, x, zero);
    b.select(is_zero, pole, rest)
}

/// Gives a power of a magnitude its sign. It is negated if x is negative, −0 included, and y is odd. It is NaN if x is negative and finite, and y is
/// not an integer.
pub fn with_sign_of_power(b: &mut KernelBuilder, magnitude: Value, x: Value, y: Value) -> Value {
    let whole = b.unary(UnaryOp::Trunc, y);
    let half = mul_constant(b, y, 0.5);
    let whole_half = b.unary(UnaryOp::Trunc, half);
    let is_integer = b.compare(CompareOp::Equal, whole, y);
    let not_even = b.compare(CompareOp::NotEqual, whole_half, half);
    let odd = b.binary(BinaryOp::And, is_integer, not_even);
    let bits = b.convert(ConvertOp::Bitcast, x, integer_lane(b, x));
    let integers = b.ty(bits);
    let none = b.int(integers, 0);
    let minus = b.compare(CompareOp::Less, bits, none);
    let negate = b.binary(BinaryOp::And, minus, odd);
    let negated = b.unary(UnaryOp::Neg, magnitude);
    let signed = b.select(negate, negated, magnitude);
    let (zero, infinity) = (constant(b, x, 0.0), constant(b, x, f64::NEG_INFINITY));
    let below = b.compare(CompareOp::Less, x, zero);
    let finite = b.compare(CompareOp::Greater, x, infinity);
    let between = b.unary(UnaryOp::Not, is_integer);
    let undefined = b.binary(BinaryOp::And, below, finite);
    let undefined = b.binary(BinaryOp::And, undefined, between);
    let nan = constant(b, x, f64::NAN);
    b.select(undefined, nan, signed)
}
