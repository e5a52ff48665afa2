//! The exponential function.

use super::super::{ROUNDER, add_constant, between, constant, mul_constant, polynomial};
use crate::{BinaryOp, ConvertOp, KernelBuilder, Lane, Value};
use std::f64::consts;

/// The first 33 bits of ln 2. Its products with exponents are exact.
pub const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
/// ln 2 − [`LN_2_HIGH`].
pub const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Computes eˣ within 1 ulp. It overflows to +∞. Results below the smallest denormal number are 0.
pub fn exp(b: &mut KernelBuilder, x: Value) -> Value {
    let nothing = constant(b, x, 0.0);
    exp_of_sum(b, x, nothing)
}

/// Computes e^(x + y) for |y| below 0.001.
pub fn exp_of_sum(b: &mut KernelBuilder, x: Value, y: Value) -> Value {
    // Outside these bounds the result is +∞ or 0 anyway.
    let x = between(b, x, -746.0, 710.0);
    // n is x ÷ ln 2, rounded to the nearest integer. The first step of the remainder is exact.
    let scaled = mul_constant(b, x, consts::LOG2_E);
    let rounded = add_constant(b, scaled, ROUNDER);
    let n = add_constant(b, rounded, -ROUNDER);
    let part = mul_constant(b, n, LN_2_HIGH);
    let high = b.sub(x, part);
    let low = mul_constant(b, n, LN_2_LOW);
    let low = b.sub(low, y);
    let power = exp_of_remainder(b, high, low);
    scaled_by_power_of_two(b, power, rounded)
}

/// Computes e^(high − low) for a difference r of at most 0.35 in magnitude. The form is 1 + r + r c ÷ (2 − c) with c = r − r² p(r²). Its relative
/// error is 2⁻⁵⁹ before rounding (Remez; FDLIBM's form).
fn exp_of_remainder(b: &mut KernelBuilder, high: Value, low: Value) -> Value {
    let r = b.sub(high, low);
    let square = b.mul(r, r);
    let p = polynomial(
        b,
        square,
        &[
            0.166_666_666_666_666_02,
            -0.002_777_777_777_701_559_3,
            6.613_756_321_437_934e-5,
            -1.653_390_220_546_525_2e-6,
            4.138_136_797_057_238_5e-8,
        ],
    );
    let bent = b.mul(square, p);
    let c = b.sub(r, bent);
    let numerator = b.mul(r, c);
    let two = constant(b, r, 2.0);
    let denominator = b.sub(two, c);
    let quotient = b.binary(BinaryOp::FloatDiv, numerator, denominator);
    let rest = b.sub(low, quotient);
    let rest = b.sub(rest, high);
    let one = constant(b, r, 1.0);
    b.sub(one, rest)
}

/// Computes x · 2ⁿ for n in −1077..=1025. n is in the low bits of a number that [`ROUNDER`] rounded. Two factors with half of n each avoid overflow,
/// and round a denormal result once.
fn scaled_by_power_of_two(b: &mut KernelBuilder, x: Value, rounded: Value) -> Value {
    let bits = b.convert(ConvertOp::Bitcast, rounded, Lane::I64);
    let integers = b.ty(bits);
    // n + 2048 is positive, and each half of it is 1024 too large.
    let origin = b.int(integers, ROUNDER.to_bits() as i64 - 2048);
    let n = b.sub(bits, origin);
    let half = b.shift(BinaryOp::ShiftRightUnsigned, n, 1);
    let other = b.sub(n, half);
    let mut result = x;
    for part in [half, other] {
        let bias = b.int(integers, 1023 - 1024);
        let exponent = b.add(part, bias);
        let factor = b.shift(BinaryOp::ShiftLeft, exponent, 52);
        let factor = b.convert(ConvertOp::Bitcast, factor, Lane::F64);
        result = b.mul(result, factor);
    }
    result
}
