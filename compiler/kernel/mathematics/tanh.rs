//! The hyperbolic tangent.

use super::exp::ROUNDER;
use super::{Arithmetic, add_constant, constant, is_wide, wide, with_sign};
use crate::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, Lane, UnaryOp, Value};
use std::f64::consts;

/// Magnitude from which 1 − 2 / (e²ˣ + 1) cancels little. Below it, a polynomial of x is used.
const LARGE: f64 = 0.625;
/// Argument from which the result is 1 in binary32.
const ONE_FROM: f64 = 9.1;

/// Computes the hyperbolic tangent within 2 ulp. The sign of zero is kept.
pub fn tanh(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    if is_wide(b, x) {
        return wide::tanh(b, x);
    }
    let magnitude = b.unary(UnaryOp::Abs, x);
    let small = tanh_small(b, arithmetic, magnitude);
    let large = if arithmetic.fused { tanh_of_power(b, arithmetic, magnitude) } else { tanh_large(b, arithmetic, magnitude) };
    let bound = constant(b, x, LARGE);
    // NaN takes the polynomial, which returns NaN.
    let is_large = b.compare(CompareOp::GreaterEqual, magnitude, bound);
    let result = b.select(is_large, large, small);
    with_sign(b, result, x)
}

/// Computes x + x³ p(x²) for 0 ≤ x ≤ 0.625, with a relative error of 2⁻²⁷·⁷ before rounding.
fn tanh_small(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    let square = b.mul(x, x);
    let p = arithmetic.polynomial(
        b,
        square,
        &[
            -0.333_332_806_825_637_8,
            0.133_314_058_184_623_72,
            -0.053_736_515_343_189_24,
            0.020_628_167_316_317_56,
            -0.005_692_296_195_775_27,
        ],
    );
    let cube = b.mul(square, x);
    arithmetic.multiply_add(b, cube, p, x)
}

/// Computes 1 − 2 / (e²ˣ + 1) for x from 0.625 on.
fn tanh_large(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    let bound = constant(b, x, ONE_FROM);
    let x = b.binary(BinaryOp::FloatMinFirst, x, bound);
    let power = exp_of_double(b, arithmetic, x, 1.0);
    let denominator = add_constant(b, power, 1.0);
    let two = constant(b, x, 2.0);
    let quotient = b.binary(BinaryOp::FloatDiv, two, denominator);
    let one = constant(b, x, 1.0);
    b.sub(one, quotient)
}

/// Computes 1 − 2t / (1 + t) with t = e⁻²ˣ, for x from 0.625 on. A polynomial of t replaces the division.
/// Its relative error is 2⁻²⁵·⁵ before rounding.
fn tanh_of_power(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    let bound = constant(b, x, ONE_FROM);
    let x = b.binary(BinaryOp::FloatMinFirst, x, bound);
    let t = exp_of_double(b, arithmetic, x, -1.0);
    arithmetic.polynomial(
        b,
        t,
        &[
            1.0,
            -1.999_995_827_674_865_7,
            1.999_721_646_308_899,
            -1.993_681_550_025_94,
            1.932_212_591_171_264_6,
            -1.614_829_421_043_396,
            0.806_544_661_521_911_6,
        ],
    )
}

/// Computes e to the 2x · `sign` for 0 ≤ x ≤ 9.1; `sign` is 1 or −1. NaN gives an arbitrary result. The form is 2ⁿ p(r) with r = x ∓ ½ n ln 2, with a
/// relative error of 2⁻²³·³ before rounding. This is exact enough: the caller's result is larger than the part that it subtracts.
fn exp_of_double(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value, sign: f64) -> Value {
    let rounder = constant(b, x, ROUNDER);
    let rounded = arithmetic.add_multiple(b, x, sign * 2.0 * consts::LOG2_E, rounder);
    let n = add_constant(b, rounded, -ROUNDER);
    let r = arithmetic.add_multiple(b, n, sign * -0.5 * consts::LN_2, x);
    let p = arithmetic.polynomial(
        b,
        r,
        &[
            1.0,
            sign * 1.999_999_403_953_552_2,
            1.999_965_429_306_030_3,
            sign * 1.333_411_693_572_998,
            0.670_396_864_414_215_1,
            sign * 0.265_290_051_698_684_7,
        ],
    );
    if arithmetic.scales {
        return b.binary(BinaryOp::FloatScale, p, n);
    }
    // n is within ±27, so it fits the exponent of p.
    let bits = b.convert(ConvertOp::Bitcast, rounded, Lane::I32);
    let exponent = b.shift(BinaryOp::ShiftLeft, bits, 23);
    let bits = b.convert(ConvertOp::Bitcast, p, Lane::I32);
    let bits = b.add(bits, exponent);
    b.convert(ConvertOp::Bitcast, bits, Lane::F32)
}
