//! Parts shared by sine and cosine: reduction of an angle to a quarter turn and a remainder, and both polynomials.

use super::exp;
use super::turns::{Reduced, short_remainder, where_beyond};
use super::{Arithmetic, ROUNDER, add_constant, constant, mul_constant, with_sign};
use crate::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, Lane, UnaryOp, Value};
use std::f64::consts;

/// The first 27 bits of π/2. Its products with integers below 2²⁶ are exact.
const HALF_PI_HIGH: f64 = 1.570_796_325_802_803;
/// π/2 − [`HALF_PI_HIGH`].
const HALF_PI_LOW: f64 = 9.920_935_796_805_404e-10;
/// 2²⁶. Smaller angles have fewer quarter turns than this, and two products reduce them.
const LARGEST: f64 = 67_108_864.0;

/// π/2 in three parts of binary32. None is negative, so that no product with a quarter turn changes the sign of zero.
const HALF_PI: [f64; 3] = [1.570_796_251_296_997, 7.549_789_415_861_596e-8, 5.390_302_529_957_765e-15];
/// 2¹⁶. Smaller angles have so few quarter turns that fused products with [`HALF_PI`] reduce them.
const LARGEST_FUSED: f64 = 65_536.0;

/// Computes the sine of the magnitude of `x` plus `turns` quarter turns.
pub fn sine_of_magnitude(b: &mut KernelBuilder, x: Value, turns: i64) -> Value {
    let magnitude = b.unary(UnaryOp::Abs, x);
    let reduced = reduce(b, magnitude);
    sine_of_reduced(b, Arithmetic::PLAIN, reduced, turns)
}

/// Computes the sine of `x` plus `turns` quarter turns, by fused products.
pub fn sine_by_fused(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value, turns: i64) -> Value {
    let reduced = reduce_fused(b, x);
    sine_of_reduced(b, arithmetic, reduced, turns)
}

/// Computes the sine of a reduced angle plus `turns` quarter turns.
fn sine_of_reduced(b: &mut KernelBuilder, arithmetic: Arithmetic, Reduced { quarter, remainder: r }: Reduced, turns: i64) -> Value {
    let integers = b.ty(quarter);
    let turns = b.int(integers, turns);
    let quarter = b.add(quarter, turns);
    let square = b.mul(r, r);
    let sine = sine_of_remainder(b, arithmetic, r, square);
    // A remainder and its sine have the same sign. Only the sine of a zero has lost it. Only fused reduction has remainders of −0.
    let sine = if arithmetic.fused { with_sign(b, sine, r) } else { sine };
    let cosine = cosine_of_remainder(b, arithmetic, square);
    let (zero, one) = (b.int(integers, 0), b.int(integers, 1));
    let odd = b.binary(BinaryOp::And, quarter, one);
    let even = b.compare(CompareOp::Equal, odd, zero);
    let result = b.select(even, sine, cosine);
    // The second and the third quarter are negative.
    let sign = b.shift(BinaryOp::ShiftLeft, quarter, 30);
    flip_sign(b, result, sign)
}

/// Flips the sign of a number where the highest bit of an i32 is set.
pub fn flip_sign(b: &mut KernelBuilder, x: Value, sign: Value) -> Value {
    let integers = b.ty(sign);
    let highest = b.int(integers, i64::from(i32::MIN));
    let sign = b.binary(BinaryOp::And, sign, highest);
    let bits = b.convert(ConvertOp::Bitcast, x, Lane::I32);
    let bits = b.binary(BinaryOp::Xor, bits, sign);
    b.convert(ConvertOp::Bitcast, bits, Lane::F32)
}

/// Reduces angles of either sign as [`reduce`] does, in binary32 up to [`LARGEST_FUSED`]. The first difference is exact. The others are rounded only
/// where they are smaller than the remainder.
fn reduce_fused(b: &mut KernelBuilder, x: Value) -> Reduced {
    let (rounder, scale) = (constant(b, x, exp::ROUNDER), constant(b, x, consts::FRAC_2_PI));
    let rounded = b.fma(x, scale, rounder);
    let n = add_constant(b, rounded, -exp::ROUNDER);
    let r = HALF_PI.into_iter().fold(x, |r, part| {
        let part = constant(b, x, -part);
        b.fma(n, part, r)
    });
    let quarter = b.convert(ConvertOp::Bitcast, rounded, Lane::I32);
    let magnitude = b.unary(UnaryOp::Abs, x);
    let found = where_beyond(b, magnitude, LARGEST_FUSED, vec![quarter, r], |b| {
        let Reduced { quarter, remainder: r } = reduce(b, magnitude);
        let bits = b.convert(ConvertOp::Bitcast, x, Lane::I32);
        // These bits are all ones for a negative angle, and negate the quarter turn.
        let signs = b.shift(BinaryOp::ShiftRightSigned, bits, 31);
        let flipped = b.binary(BinaryOp::Xor, quarter, signs);
        vec![b.sub(flipped, signs), flip_sign(b, r, bits)]
    });
    Reduced { quarter: found[0], remainder: found[1] }
}

/// Reduces an angle to the nearest quarter turn, whose two low bits count, and a remainder in −π/4..=π/4. It uses binary64: in binary32, products of
/// more than a few quarter turns with parts of π/2 are not exact.
fn reduce(b: &mut KernelBuilder, magnitude: Value) -> Reduced {
    let x = b.convert(ConvertOp::Promote, magnitude, Lane::F64);
    let near = near_remainder(b, x);
    let near = narrowed(b, near);
    let found = where_beyond(b, magnitude, LARGEST, near, |b| {
        let far = short_remainder(b, x);
        narrowed(b, far)
    });
    Reduced { quarter: found[0], remainder: found[1] }
}

/// Converts a quarter turn plus [`ROUNDER`] to an integer, and a remainder to binary32.
fn narrowed(b: &mut KernelBuilder, Reduced { quarter, remainder }: Reduced) -> Vec<Value> {
    let bits = b.convert(ConvertOp::Bitcast, quarter, Lane::I64);
    vec![b.convert(ConvertOp::Wrap, bits, Lane::I32), b.convert(ConvertOp::Demote, remainder, Lane::F32)]
}

/// Returns the quarter turn nearest to an angle up to [`LARGEST`], plus [`ROUNDER`], and the remainder. Infinities give NaN.
fn near_remainder(b: &mut KernelBuilder, x: Value) -> Reduced {
    let scaled = mul_constant(b, x, consts::FRAC_2_PI);
    let rounded = add_constant(b, scaled, ROUNDER);
    let n = add_constant(b, rounded, -ROUNDER);
    let high = mul_constant(b, n, HALF_PI_HIGH);
    let low = mul_constant(b, n, HALF_PI_LOW);
    let r = b.sub(x, high);
    Reduced { quarter: rounded, remainder: b.sub(r, low) }
}

/// Computes r + r³ p(r²), with a relative error of 2⁻²⁷·⁹ before rounding. −0 gives +0.
fn sine_of_remainder(b: &mut KernelBuilder, arithmetic: Arithmetic, r: Value, square: Value) -> Value {
    let p = arithmetic.polynomial(b, square, &[-0.166_666_552_424_430_85, 0.008_332_189_172_506_332, -0.000_195_182_845_345_698_3]);
    let cube = b.mul(r, square);
    arithmetic.multiply_add(b, cube, p, r)
}

/// Computes 1 − r²/2 + r⁴ p(r²), with a relative error of 2⁻³³ before rounding.
fn cosine_of_remainder(b: &mut KernelBuilder, arithmetic: Arithmetic, square: Value) -> Value {
    let p = arithmetic.polynomial(b, square, &[0.041_666_645_556_688_31, -0.001_388_730_946_928_262_7, 2.443_232_733_639_888_5e-5]);
    let fourth = b.mul(square, square);
    let one = constant(b, square, 1.0);
    let head = arithmetic.add_multiple(b, square, -0.5, one);
    arithmetic.multiply_add(b, fourth, p, head)
}
