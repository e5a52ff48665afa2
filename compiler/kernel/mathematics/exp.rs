//! The exponential function.

use super::{Arithmetic, add_constant, between, constant, is_wide, wide};
use crate::{BinaryOp, ConvertOp, KernelBuilder, Lane, UnaryOp, Value};
use std::f64::consts;

/// 1.5 · 2²³. A small number plus this is rounded to an integer in the low bits of the sum.
pub const ROUNDER: f64 = 12_582_912.0;
/// The first 9 bits of ln 2. Its products with exponents are exact.
const LN_2_HIGH: f64 = 0.693_359_375;
/// ln 2 − [`LN_2_HIGH`].
const LN_2_LOW: f64 = consts::LN_2 - LN_2_HIGH;

/// Computes eˣ within 1 ulp. It overflows to +∞. Denormal results are correct, and smaller ones are 0.
pub fn exp(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    if is_wide(b, x) {
        return wide::exp(b, x);
    }
    exp_of_multiple(b, arithmetic, x, 1.0)
}

/// Computes e⁻ˣ with the bounds of [`exp`].
pub fn exp_of_negative(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    if is_wide(b, x) {
        let negated = b.unary(UnaryOp::Neg, x);
        return wide::exp(b, negated);
    }
    exp_of_multiple(b, arithmetic, x, -1.0)
}

/// Computes e to the x · `sign`; `sign` is 1 or −1.
fn exp_of_multiple(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value, sign: f64) -> Value {
    // Outside these bounds the result is +∞ or 0 anyway; inside them the exponent stays in range.
    let (lowest, highest) = if sign < 0.0 { (-89.0, 104.0) } else { (-104.0, 89.0) };
    let x = between(b, x, lowest, highest);
    exp_within(b, arithmetic, x, sign)
}

/// Computes e⁻ˣ with the bounds of [`exp`], for −89 ≤ x ≤ 104.
pub fn exp_of_negative_within(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    exp_within(b, arithmetic, x, -1.0)
}

/// Computes [`exp_of_multiple`] for ±x from −104 to 89.
fn exp_within(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value, sign: f64) -> Value {
    // n is ±x / ln 2, rounded to the nearest integer. The remainder takes two steps; the first is exact.
    let rounder = constant(b, x, ROUNDER);
    let rounded = arithmetic.add_multiple(b, x, sign * consts::LOG2_E, rounder);
    let n = add_constant(b, rounded, -ROUNDER);
    let r = arithmetic.add_multiple(b, n, -sign * LN_2_HIGH, x);
    let r = arithmetic.add_multiple(b, n, -sign * LN_2_LOW, r);
    let power = exp_of_remainder(b, arithmetic, r, sign);
    times_power_of_two(b, arithmetic, power, n, rounded)
}

/// Computes e to the r · `sign` for |r| ≤ 0.3475 as 1 ± r + r² q(±r), with a relative error of 2⁻²⁸·² before rounding.
fn exp_of_remainder(b: &mut KernelBuilder, arithmetic: Arithmetic, r: Value, sign: f64) -> Value {
    let q = [
        0.499_999_940_395_355_2,
        sign * 0.166_665_151_715_278_63,
        0.041_668_087_244_033_81,
        sign * 0.008_369_296_789_169_312,
        0.001_383_823_459_036_648_3,
    ];
    if arithmetic.fused {
        let [c2, c3, c4, c5, c6] = q;
        return arithmetic.polynomial(b, r, &[1.0, sign, c2, c3, c4, c5, c6]);
    }
    // Separate products are rounded, but r² q is small compared to 1 + r.
    let q = arithmetic.polynomial(b, r, &q);
    let square = b.mul(r, r);
    let tail = b.mul(square, q);
    let sum = if sign < 0.0 { b.sub(tail, r) } else { b.add(tail, r) };
    add_constant(b, sum, 1.0)
}

/// Computes x · 2ⁿ for n from −150 to 128. The low bits of `rounded` are n, too.
fn times_power_of_two(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value, n: Value, rounded: Value) -> Value {
    if arithmetic.scales {
        return b.binary(BinaryOp::FloatScale, x, n);
    }
    // Two factors, each with half of n: neither overflows, and a denormal result is rounded once. The other bits of the rounder are even, and are
    // shifted out.
    let bits = b.convert(ConvertOp::Bitcast, rounded, Lane::I32);
    let half = b.shift(BinaryOp::ShiftRightSigned, bits, 1);
    let other = b.sub(bits, half);
    let first = power_of_two(b, half);
    let second = power_of_two(b, other);
    let result = b.mul(x, first);
    b.mul(result, second)
}

/// Computes 2ⁿ as binary32, where n is the low 9 bits of i32 lanes, from −126 to 127.
fn power_of_two(b: &mut KernelBuilder, n: Value) -> Value {
    let ty = b.ty(n);
    let exponent = b.shift(BinaryOp::ShiftLeft, n, 23);
    let bias = b.int(ty, i64::from(1f32.to_bits()));
    let bits = b.add(exponent, bias);
    b.convert(ConvertOp::Bitcast, bits, Lane::F32)
}
