//! The distribution function of the standard normal distribution.

use super::reciprocal::negative_reciprocal;
use super::{Arithmetic, add_constant, between, constant, erf, is_wide, mul_constant};
use crate::{BinaryOp, KernelBuilder, UnaryOp, Value};
use std::f64::consts::FRAC_1_SQRT_2;

/// Argument from which the result is 1 in binary32.
const ONE_FROM: f64 = 5.449_996;

/// Computes ½ (1 + erf(x ÷ √2)). In binary32 the absolute error is 2⁻²². The result is 0 and 1 beyond ±5.45, and never below 0 or above 1. In
/// binary64 it is computed by this formula.
///
/// GELU is x times this function. It takes half of the operations of [`erf`], since it does not distinguish numbers close to 0.
pub fn normal_cdf(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    let half = constant(b, x, 0.5);
    if is_wide(b, x) {
        let argument = mul_constant(b, x, FRAC_1_SQRT_2);
        let erf = erf(b, arithmetic, argument);
        let sum = add_constant(b, erf, 1.0);
        return b.mul(half, sum);
    }
    let x = between(b, x, -ONE_FROM, ONE_FROM);
    let difference = difference_from_half(b, arithmetic, x);
    let sum = b.add(half, difference);
    let zero = constant(b, x, 0.0);
    b.binary(BinaryOp::FloatMaxFirst, sum, zero)
}

/// Computes Φ(x) − ½ for |x| ≤ 5.45 as x p(x²) / q(x²). With rounding, the error is at most 3.8 · 2⁻²⁴. At the bound the result is ½.
fn difference_from_half(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    let square = b.mul(x, x);
    let p = arithmetic.polynomial(
        b,
        square,
        &[
            0.398_942_232_131_958,
            0.033_957_038_074_731_83,
            0.004_683_305_975_049_734,
            0.000_169_831_837_410_838_58,
            6.353_574_462_991_673_5e-6,
            2.263_393_383_782_786_8e-8,
        ],
    );
    let q = arithmetic.polynomial(
        b,
        square,
        &[
            1.0,
            0.251_783_549_785_614,
            0.028_704_702_854_156_494,
            0.001_890_171_668_492_257_2,
            0.000_073_941_067_967_098_2,
            1.194_232_595_480_571e-6,
        ],
    );
    let numerator = b.mul(x, p);
    if arithmetic.fused {
        let negated = b.unary(UnaryOp::Neg, numerator);
        let reciprocal = negative_reciprocal(b, q);
        return b.mul(negated, reciprocal);
    }
    b.binary(BinaryOp::FloatDiv, numerator, q)
}
