//! The exponential function.

use super::{add_constant, between, is_wide, mul_constant, polynomial, wide};
use crate::kernel::{BinaryOp, ConvertOp, KernelBuilder, Lane, Value};
use std::f64::consts;

/// 1.5 · 2²³: a small number added to it is rounded to an integer that stands in the low bits of the sum.
const ROUNDER: f64 = 12_582_912.0;

/// eˣ, within 1 ulp. Overflows to +∞; denormal results are correct, and below them it is 0.
pub fn exp(b: &mut KernelBuilder, x: Value) -> Value {
    if is_wide(b, x) {
        return wide::exp(b, x);
    }
    // Beyond these bounds the result is +∞ or 0 anyway; inside them the exponent below stays in range.
    let x = between(b, x, -104.0, 89.0);
    // n = x / ln 2 to the nearest integer; the remainder is taken in two steps, of which the first is exact.
    let scaled = mul_constant(b, x, consts::LOG2_E);
    let rounded = add_constant(b, scaled, ROUNDER);
    let n = add_constant(b, rounded, -ROUNDER);
    let high = mul_constant(b, n, 0.693_359_375);
    let low = mul_constant(b, n, consts::LN_2 - 0.693_359_375);
    let r = b.sub(x, high);
    let r = b.sub(r, low);
    let power = exp_of_remainder(b, r);
    // Twice half of n, so that neither factor overflows and a denormal result is rounded once.
    let integers = b.ty(x).with_lane(Lane::I32);
    let bits = b.convert(ConvertOp::Bitcast, rounded, Lane::I32);
    let rounder = b.int(integers, i64::from((ROUNDER as f32).to_bits()));
    let n = b.sub(bits, rounder);
    let half = b.shift(BinaryOp::ShiftRightSigned, n, 1);
    let other = b.sub(n, half);
    let first = power_of_two(b, half);
    let second = power_of_two(b, other);
    let result = b.mul(power, first);
    b.mul(result, second)
}

/// eʳ for |r| ≤ 0.3475: 1 + r + r² q(r), with a relative error of 2⁻²⁸·² before rounding.
fn exp_of_remainder(b: &mut KernelBuilder, r: Value) -> Value {
    let q = polynomial(
        b,
        r,
        &[
            0.499_999_940_395_355_2,
            0.166_665_151_715_278_63,
            0.041_668_087_244_033_81,
            0.008_369_296_789_169_312,
            0.001_383_823_459_036_648_3,
        ],
    );
    let square = b.mul(r, r);
    let tail = b.mul(square, q);
    let sum = b.add(tail, r);
    add_constant(b, sum, 1.0)
}

/// 2ⁿ as binary32, for i32 lanes n in -126..=127.
fn power_of_two(b: &mut KernelBuilder, n: Value) -> Value {
    let ty = b.ty(n);
    let bias = b.int(ty, 127);
    let exponent = b.add(n, bias);
    let bits = b.shift(BinaryOp::ShiftLeft, exponent, 23);
    b.convert(ConvertOp::Bitcast, bits, Lane::F32)
}
