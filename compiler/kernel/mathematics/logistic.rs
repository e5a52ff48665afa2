//! The logistic function.

use super::exp::{exp_of_negative, exp_of_negative_within};
use super::{Arithmetic, add_constant, constant, is_wide};
use crate::kernel::{BinaryOp, CompareOp, KernelBuilder, UnaryOp, Value};

/// From this magnitude on, e⁻ˣ is 0 in binary32.
const ZERO_FROM: f64 = 104.0;

/// 1 / (1 + e⁻ˣ), of binary32 or binary64, within 3 ulp where the result is normal. Results below 2⁻¹²⁸ or 2⁻¹⁰²⁴ are 0, but not those of binary32 by fused
/// products, which are denormal.
pub fn logistic(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    if arithmetic.fused && !is_wide(b, x) {
        return of_magnitude(b, arithmetic, x);
    }
    let power = exp_of_negative(b, arithmetic, x);
    let denominator = add_constant(b, power, 1.0);
    let one = constant(b, x, 1.0);
    b.binary(BinaryOp::FloatDiv, one, denominator)
}

/// 1 ÷ (1 + t) or, below zero, t ÷ (1 + t), with t = e^(−|x|): a sum from 1 to 2 has a reciprocal without a division.
fn of_magnitude(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    let magnitude = b.unary(UnaryOp::Abs, x);
    let bound = constant(b, x, ZERO_FROM);
    let magnitude = b.binary(BinaryOp::FloatMinFirst, magnitude, bound);
    let power = exp_of_negative_within(b, arithmetic, magnitude);
    let reciprocal = reciprocal_of_sum(b, arithmetic, power);
    let (zero, one) = (constant(b, x, 0.0), constant(b, x, 1.0));
    let negative = b.compare(CompareOp::Less, x, zero);
    let numerator = b.select(negative, power, one);
    b.mul(reciprocal, numerator)
}

/// 1 ÷ (1 + t) for 0 ≤ t ≤ 1: a polynomial with a relative error of 2⁻⁹·¹, and a step of third order.
fn reciprocal_of_sum(b: &mut KernelBuilder, arithmetic: Arithmetic, t: Value) -> Value {
    let y =
        arithmetic.polynomial(b, t, &[0.998_266_875_743_866, -0.942_807_197_570_800_8, 0.665_509_998_798_370_4, -0.221_836_134_791_374_2]);
    let (one, minus_one) = (constant(b, t, 1.0), constant(b, t, -1.0));
    let negated_sum = b.sub(minus_one, t);
    let error = b.fma(negated_sum, y, one);
    let correction = b.fma(error, error, error);
    b.fma(y, correction, y)
}
