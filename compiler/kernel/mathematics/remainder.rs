//! The remainder of a division.

use super::{constant, is_wide, mul_constant, wide, with_sign};
use crate::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, Lane, UnaryOp, Value};

/// Bits of a quotient that one step finds. Their product with the 24 bits of a divisor is exact in binary64.
const BITS: i32 = 28;
/// Number of steps. Quotients of two binary32 numbers are below 2 to ten times [`BITS`].
const STEPS: i32 = 10;

/// Computes x − n · y exactly, where n is x ÷ y rounded towards zero (C's `fmod`). The result has the sign of x. A zero divisor or an infinite
/// dividend gives NaN, and an infinite divisor gives x.
pub fn remainder(b: &mut KernelBuilder, x: Value, y: Value) -> Value {
    if is_wide(b, x) {
        return wide::remainder(b, x, y);
    }
    let magnitude = |b: &mut KernelBuilder, x| {
        let x = b.unary(UnaryOp::Abs, x);
        b.convert(ConvertOp::Promote, x, Lane::F64)
    };
    let (mut rest, divisor) = (magnitude(b, x), magnitude(b, y));
    // Long division subtracts multiples of smaller and smaller shifted divisors.
    for step in (0..STEPS).rev() {
        let shifted = mul_constant(b, divisor, f64::powi(2.0, BITS * step));
        rest = divided(b, rest, shifted);
    }
    let rest = b.convert(ConvertOp::Demote, rest, Lane::F32);
    let result = with_sign(b, rest, x);
    let infinity = constant(b, x, f64::INFINITY);
    let (x_size, y_size) = (b.unary(UnaryOp::Abs, x), b.unary(UnaryOp::Abs, y));
    let endless = b.compare(CompareOp::Equal, y_size, infinity);
    let finite = b.compare(CompareOp::Less, x_size, infinity);
    let whole = b.binary(BinaryOp::And, endless, finite);
    b.select(whole, x, result)
}

/// Subtracts from x as many times y as fit, for a quotient of at most [`BITS`] bits. The quotient may be one too large, which is corrected.
fn divided(b: &mut KernelBuilder, x: Value, y: Value) -> Value {
    let quotient = b.binary(BinaryOp::FloatDiv, x, y);
    let times = b.unary(UnaryOp::Trunc, quotient);
    let product = b.mul(times, y);
    let rest = b.sub(x, product);
    let more = b.add(rest, y);
    let zero = constant(b, x, 0.0);
    let below = b.compare(CompareOp::Less, rest, zero);
    b.select(below, more, rest)
}
