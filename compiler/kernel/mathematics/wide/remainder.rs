//! The remainder of a division.

use super::super::{constant, mul_constant, with_sign};
use super::pair::sum;
use crate::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, Lane, UnaryOp, Value};

/// Bits of a quotient that one step finds. Their products with half the digits of a divisor are exact.
const BITS: i64 = 22;
/// Number of steps for the largest possible quotient, 2 to the 2098.
const STEPS: i64 = 96;
/// 2⁵⁴. The product with it makes denormal numbers normal.
const LIFT: f64 = 18_014_398_509_481_984.0;

/// Computes x − n · y exactly, where n is x ÷ y rounded towards zero (C's `fmod`). The result has the sign of x. A zero divisor or an infinite
/// dividend gives NaN, and an infinite divisor gives x. It is a loop of long division, whose length does not depend on the operands.
pub fn remainder(b: &mut KernelBuilder, x: Value, y: Value) -> Value {
    let (size, divisor) = (b.unary(UnaryOp::Abs, x), b.unary(UnaryOp::Abs, y));
    let lowest = exponent(b, divisor);
    let (start, end) = (b.index(0), b.index(STEPS));
    let rest = b.for_carry(start, end, 1, &[size], |b, _, carried| vec![step(b, carried[0], divisor, lowest)])[0];
    let result = with_sign(b, rest, x);
    let infinity = constant(b, x, f64::INFINITY);
    let endless = b.compare(CompareOp::Equal, divisor, infinity);
    let finite = b.compare(CompareOp::Less, size, infinity);
    let whole = b.binary(BinaryOp::And, endless, finite);
    let result = b.select(whole, x, result);
    // Neither a zero divisor nor an infinite dividend has a remainder.
    let zero = constant(b, x, 0.0);
    let some = b.compare(CompareOp::Greater, divisor, zero);
    let defined = b.binary(BinaryOp::And, some, finite);
    let nan = constant(b, x, f64::NAN);
    b.select(defined, result, nan)
}

/// Returns the rest of a dividend after one step: it subtracts a multiple of the divisor, which is shifted up to [`BITS`] below the dividend.
fn step(b: &mut KernelBuilder, rest: Value, divisor: Value, lowest: Value) -> Value {
    let highest = exponent(b, rest);
    let integers = b.ty(highest);
    let (bits, none) = (b.int(integers, BITS), b.int(integers, 0));
    let distance = b.sub(highest, lowest);
    let distance = b.sub(distance, bits);
    let down = b.compare(CompareOp::Less, distance, none);
    let distance = b.select(down, none, distance);
    let shifted = times_power_of_two(b, divisor, distance);
    let quotient = b.binary(BinaryOp::FloatDiv, rest, shifted);
    let times = b.unary(UnaryOp::Trunc, quotient);
    let left = less_product(b, rest, times, shifted);
    // The quotient may have been rounded up, and be one too large.
    let more = b.add(left, shifted);
    let zero = constant(b, rest, 0.0);
    let below = b.compare(CompareOp::Less, left, zero);
    b.select(below, more, left)
}

/// Computes x − n · y. It is exact if the result is below y in magnitude and n has few digits.
fn less_product(b: &mut KernelBuilder, x: Value, n: Value, y: Value) -> Value {
    let bits = b.convert(ConvertOp::Bitcast, y, Lane::I64);
    let integers = b.ty(bits);
    let mask = b.int(integers, -1 << 27);
    let cut = b.binary(BinaryOp::And, bits, mask);
    let high = b.convert(ConvertOp::Bitcast, cut, Lane::F64);
    let low = b.sub(y, high);
    let (high, low) = (b.mul(n, high), b.mul(n, low));
    let minus = b.unary(UnaryOp::Neg, high);
    let most = sum(b, x, minus);
    let left = b.sub(most.high, low);
    b.add(left, most.low)
}

/// Returns the biased exponent of a non-negative number. Exponents of denormal numbers continue below 1.
fn exponent(b: &mut KernelBuilder, x: Value) -> Value {
    let smallest = constant(b, x, f64::MIN_POSITIVE);
    let denormal = b.compare(CompareOp::Less, x, smallest);
    let lifted = mul_constant(b, x, LIFT);
    let normal = b.select(denormal, lifted, x);
    let bits = b.convert(ConvertOp::Bitcast, normal, Lane::I64);
    let biased = b.shift(BinaryOp::ShiftRightUnsigned, bits, 52);
    let integers = b.ty(biased);
    let (none, lift) = (b.int(integers, 0), b.int(integers, 54));
    let lift = b.select(denormal, lift, none);
    b.sub(biased, lift)
}

/// Computes x · 2ⁿ for n from 0 to 2100, in four exact steps.
fn times_power_of_two(b: &mut KernelBuilder, x: Value, n: Value) -> Value {
    let integers = b.ty(n);
    let bias = b.int(integers, 1023);
    let halved = |b: &mut KernelBuilder, n: Value| {
        let half = b.shift(BinaryOp::ShiftRightUnsigned, n, 1);
        [half, b.sub(n, half)]
    };
    let mut result = x;
    for half in halved(b, n) {
        for part in halved(b, half) {
            let biased = b.add(part, bias);
            let factor = b.shift(BinaryOp::ShiftLeft, biased, 52);
            let factor = b.convert(ConvertOp::Bitcast, factor, Lane::F64);
            result = b.mul(result, factor);
        }
    }
    result
}
