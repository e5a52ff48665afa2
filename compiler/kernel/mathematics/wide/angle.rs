//! Sine and cosine.

use super::super::turns::where_beyond;
use super::super::{ROUNDER, add_constant, constant, mul_constant, polynomial};
use super::pair::{Pair, ordered_sum, product, sum};
use super::turns::{HALF_PI, long_remainder};
use crate::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, Lane, UnaryOp, Value};
use std::f64::consts;

/// 2⁴⁵. Up to here, the product of the quarter turns with π/2 is exact enough.
const LARGEST: f64 = 35_184_372_088_832.0;

/// Computes sin x within 1 ulp. The sign of zero is kept, and infinities give NaN.
pub fn sin(b: &mut KernelBuilder, x: Value) -> Value {
    let result = sine_from(b, x, 0);
    let sign = b.convert(ConvertOp::Bitcast, x, Lane::I64);
    flip_sign(b, result, sign)
}

/// Computes cos x within 1 ulp. Infinities give NaN.
pub fn cos(b: &mut KernelBuilder, x: Value) -> Value {
    sine_from(b, x, 1)
}

/// Computes the sine of the magnitude of `x` plus `turns` quarter turns.
fn sine_from(b: &mut KernelBuilder, x: Value, turns: i64) -> Value {
    let magnitude = b.unary(UnaryOp::Abs, x);
    let (quarter, r) = reduce(b, magnitude);
    let integers = b.ty(quarter);
    let turns = b.int(integers, turns);
    let quarter = b.add(quarter, turns);
    let square = b.mul(r.high, r.high);
    let (sine, cosine) = (sine_of_remainder(b, r, square), cosine_of_remainder(b, r, square));
    let (zero, one) = (b.int(integers, 0), b.int(integers, 1));
    let odd = b.binary(BinaryOp::And, quarter, one);
    let even = b.compare(CompareOp::Equal, odd, zero);
    let result = b.select(even, sine, cosine);
    // The second and the third quarter are negative.
    let sign = b.shift(BinaryOp::ShiftLeft, quarter, 62);
    flip_sign(b, result, sign)
}

/// Flips the sign of a number where the highest bit of an i64 is set.
fn flip_sign(b: &mut KernelBuilder, x: Value, sign: Value) -> Value {
    let integers = b.ty(sign);
    let highest = b.int(integers, i64::MIN);
    let sign = b.binary(BinaryOp::And, sign, highest);
    let bits = b.convert(ConvertOp::Bitcast, x, Lane::I64);
    let bits = b.binary(BinaryOp::Xor, bits, sign);
    b.convert(ConvertOp::Bitcast, bits, Lane::F64)
}

/// Reduces an angle to the nearest quarter turn, whose two low bits count, and a remainder in −π/4..=π/4.
fn reduce(b: &mut KernelBuilder, magnitude: Value) -> (Value, Pair) {
    let near = near_remainder(b, magnitude);
    let near = listed(b, near);
    let found = where_beyond(b, magnitude, LARGEST, near, |b| {
        let far = long_remainder(b, magnitude);
        listed(b, far)
    });
    (found[0], Pair { high: found[1], low: found[2] })
}

/// Converts a quarter turn plus [`ROUNDER`] to an integer, and lists it with the two numbers of the remainder.
fn listed(b: &mut KernelBuilder, (rounded, r): (Value, Pair)) -> Vec<Value> {
    vec![b.convert(ConvertOp::Bitcast, rounded, Lane::I64), r.high, r.low]
}

/// Returns the quarter turn nearest to an angle up to [`LARGEST`], plus [`ROUNDER`], and the remainder. The product of the quarter turns with π/2 has
/// a relative error of 2⁻¹⁰⁵, and its difference to the angle is exact. Infinities give NaN.
fn near_remainder(b: &mut KernelBuilder, x: Value) -> (Value, Pair) {
    let scaled = mul_constant(b, x, consts::FRAC_2_PI);
    let rounded = add_constant(b, scaled, ROUNDER);
    let n = add_constant(b, rounded, -ROUNDER);
    let [first, second, third] = HALF_PI.map(|part| constant(b, x, part));
    let (first, second, third) = (product(b, n, first), product(b, n, second), b.mul(n, third));
    let near = b.sub(x, first.high);
    let minus = b.unary(UnaryOp::Neg, first.low);
    let rest = sum(b, near, minus);
    let minus = b.unary(UnaryOp::Neg, second.high);
    let found = sum(b, rest.high, minus);
    let low = b.add(rest.low, found.low);
    let low = b.sub(low, second.low);
    let low = b.sub(low, third);
    (rounded, ordered_sum(b, found.high, low))
}

/// Computes r + r³ p(r²), with a relative error of 2⁻⁵⁸ before rounding (Remez; FDLIBM's form).
fn sine_of_remainder(b: &mut KernelBuilder, r: Pair, square: Value) -> Value {
    let p = polynomial(
        b,
        square,
        &[
            0.008_333_333_333_322_49,
            -0.000_198_412_698_298_579_5,
            2.755_731_370_707_006_8e-6,
            -2.505_076_025_340_686_3e-8,
            1.589_690_995_211_55e-10,
        ],
    );
    let cube = b.mul(square, r.high);
    let half = mul_constant(b, r.low, 0.5);
    let tail = b.mul(cube, p);
    let tail = b.sub(half, tail);
    let tail = b.mul(square, tail);
    let tail = b.sub(tail, r.low);
    let first = mul_constant(b, cube, -0.166_666_666_666_666_32);
    let tail = b.sub(tail, first);
    b.sub(r.high, tail)
}

/// Computes 1 − r²/2 + r⁴ p(r²), with a relative error of 2⁻⁵⁸ before rounding (Remez; FDLIBM's form).
fn cosine_of_remainder(b: &mut KernelBuilder, r: Pair, square: Value) -> Value {
    let p = polynomial(
        b,
        square,
        &[
            0.041_666_666_666_666_6,
            -0.001_388_888_888_887_411,
            2.480_158_728_947_673e-5,
            -2.755_731_435_139_066_3e-7,
            2.087_572_321_298_175e-9,
            -1.135_964_755_778_819_5e-11,
        ],
    );
    let half = mul_constant(b, square, 0.5);
    let one = constant(b, square, 1.0);
    let head = b.sub(one, half);
    let cut = b.sub(one, head);
    let cut = b.sub(cut, half);
    let fourth = b.mul(square, square);
    let tail = b.mul(fourth, p);
    let turned = b.mul(r.high, r.low);
    let tail = b.sub(tail, turned);
    let tail = b.add(cut, tail);
    b.add(head, tail)
}
