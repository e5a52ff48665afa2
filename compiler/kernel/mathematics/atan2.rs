//! The angle of a point.

use super::{add_constant, constant, integer_lane, polynomial, with_sign};
use crate::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, Lane, UnaryOp, Value};
use std::f64::consts;

/// Coefficients of p in atan t = t + t³ p(t²) for |t| ≤ √2 − 1, with a relative error of 2⁻²⁸ before rounding.
const SHORT: &[f64] =
    &[-0.333_333_313_465_118_4, 0.199_995_398_521_423_34, -0.142_639_562_487_602_23, 0.107_437_312_602_996_83, -0.064_519_278_705_120_09];
/// Coefficients of this p with a relative error of 2⁻⁶².
const LONG: &[f64] = &[
    -0.333_333_333_333_333_3,
    0.199_999_999_999_998_04,
    -0.142_857_142_856_598_28,
    0.111_111_111_051_554_47,
    -0.090_909_087_535_008_77,
    0.076_922_963_750_321_43,
    -0.066_664_248_857_382_55,
    0.058_789_289_978_347_75,
    -0.052_304_542_706_502_44,
    0.045_515_932_206_265_49,
    -0.034_570_561_981_427_744,
    0.016_285_756_855_221_028,
];

/// Computes the angle between the positive first axis and the point (x, y), in −π..=π, within 3 ulp. Lanes are binary32 or binary64. Zeros and
/// infinities follow C99: their signs choose the quadrant.
pub fn atan2(b: &mut KernelBuilder, y: Value, x: Value) -> Value {
    let (across, along) = (b.unary(UnaryOp::Abs, y), b.unary(UnaryOp::Abs, x));
    let steep = b.compare(CompareOp::Greater, across, along);
    let small = b.select(steep, along, across);
    let large = b.select(steep, across, along);
    let angle = angle_of_ratio(b, small, large);
    let angle = mirrored(b, steep, angle, consts::FRAC_PI_2, 6.123_233_995_736_766e-17);
    let bits = b.convert(ConvertOp::Bitcast, x, integer_lane(b, x));
    let integers = b.ty(bits);
    let none = b.int(integers, 0);
    let is_negative = b.compare(CompareOp::Less, bits, none);
    let angle = mirrored(b, is_negative, angle, consts::PI, 1.224_646_799_147_353_2e-16);
    let angle = with_sign(b, angle, y);
    let sum = b.add(x, y);
    // The sum detects NaN, but infinities of opposite signs have no sum either. They compare equal to themselves.
    let known = b.compare(CompareOp::Equal, x, x);
    let also = b.compare(CompareOp::Equal, y, y);
    let both = b.binary(BinaryOp::And, known, also);
    b.select(both, angle, sum)
}

/// Computes atan(small ÷ large) for 0 ≤ small ≤ large.
fn angle_of_ratio(b: &mut KernelBuilder, small: Value, large: Value) -> Value {
    let (zero, one) = (constant(b, small, 0.0), constant(b, small, 1.0));
    let quotient = b.binary(BinaryOp::FloatDiv, small, large);
    // 0 ÷ 0 counts as 0, and ∞ ÷ ∞ as 1.
    let infinity = constant(b, small, f64::INFINITY);
    let diagonal = b.compare(CompareOp::Equal, small, infinity);
    let quotient = b.select(diagonal, one, quotient);
    let nowhere = b.compare(CompareOp::Equal, large, zero);
    let quotient = b.select(nowhere, zero, quotient);
    // Above 22.5° the angle is computed relative to 45°.
    let limit = constant(b, small, consts::SQRT_2 - 1.0);
    let upper = b.compare(CompareOp::Greater, quotient, limit);
    let (below, above) = (b.sub(quotient, one), b.add(quotient, one));
    let turned = b.binary(BinaryOp::FloatDiv, below, above);
    let t = b.select(upper, turned, quotient);
    let square = b.mul(t, t);
    let p = polynomial(b, square, if b.ty(t).lane == Lane::F64 { LONG } else { SHORT });
    let cube = b.mul(square, t);
    let tail = b.mul(cube, p);
    let angle = b.add(t, tail);
    let raised = add_constant(b, angle, consts::FRAC_PI_4);
    b.select(upper, raised, angle)
}

/// Computes `whole + rest − angle` where the mask is true. `whole` is rounded to the lanes' precision, and `rest` is its error.
fn mirrored(b: &mut KernelBuilder, mask: Value, angle: Value, whole: f64, rest: f64) -> Value {
    let rest = if b.ty(angle).lane == Lane::F64 { rest } else { whole - f64::from(whole as f32) };
    let rest = constant(b, angle, rest);
    let rest = b.sub(rest, angle);
    let mirrored = add_constant(b, rest, whole);
    b.select(mask, mirrored, angle)
}
