//! The complement of the error function.

use super::exp::{exp_of_negative, exp_of_negative_within};
use super::reciprocal::negative_reciprocal;
use super::{Arithmetic, add_constant, constant, is_wide, wide};
use crate::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, Lane, UnaryOp, Value};

/// Argument from which the result is 0 in binary32.
const ZERO_FROM: f64 = 10.1;
/// Argument at which the polynomial's variable is 0.
const CENTRE: f64 = 3.0;
/// Argument at which the variable of the fused polynomial is 0. With it, the last products are smaller than the constant term.
const FUSED_CENTRE: f64 = 1.5;

/// Computes 1 − erf x within 6 ulp if the result is normal. Denormal results may have an additional error of 2⁻¹⁴⁸.
pub fn erfc(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    if is_wide(b, x) {
        return wide::erfc(b, x);
    }
    let magnitude = b.unary(UnaryOp::Abs, x);
    let bound = constant(b, x, ZERO_FROM);
    let magnitude = b.binary(BinaryOp::FloatMinFirst, magnitude, bound);
    let [power, ratio] = if arithmetic.fused {
        [fused_power(b, arithmetic, magnitude), fused_ratio(b, arithmetic, magnitude)]
    } else {
        [exp_of_negative_square(b, arithmetic, magnitude), scaled_complement(b, arithmetic, magnitude)]
    };
    let right = b.mul(power, ratio);
    let two = constant(b, x, 2.0);
    let left = b.sub(two, right);
    let zero = constant(b, x, 0.0);
    let is_left = b.compare(CompareOp::Less, x, zero);
    b.select(is_left, left, right)
}

/// Computes e^(−x²) for 0 ≤ x ≤ 10.1. The last twelve bits of x are cut, so that the square is exact. Their part of the exponent is small: five terms
/// of its series are enough.
fn exp_of_negative_square(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    let bits = b.convert(ConvertOp::Bitcast, x, Lane::I32);
    let integers = b.ty(bits);
    let mask = b.int(integers, -1 << 12);
    let bits = b.binary(BinaryOp::And, bits, mask);
    let high = b.convert(ConvertOp::Bitcast, bits, Lane::F32);
    let square = b.mul(high, high);
    let power = exp_of_negative(b, arithmetic, square);
    let (low, sum) = (b.sub(high, x), b.add(high, x));
    let rest = b.mul(low, sum);
    let factor = arithmetic.polynomial(b, rest, &[1.0, 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0]);
    b.mul(power, factor)
}

/// Computes e^(x²) erfc x for 0 ≤ x ≤ 10.1 as p(t) ÷ (1 + 2x) with t = (x − 3) ÷ (x + 3). The relative error is 2⁻²⁸ before rounding.
fn scaled_complement(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    let numerator = add_constant(b, x, -CENTRE);
    let denominator = add_constant(b, x, CENTRE);
    let t = b.binary(BinaryOp::FloatDiv, numerator, denominator);
    let p = arithmetic.polynomial(
        b,
        t,
        &[
            1.253_008_008_003_234_9,
            -0.135_621_145_367_622_38,
            -0.047_562_278_807_163_24,
            0.129_646_569_490_432_74,
            -0.119_272_649_288_177_49,
            0.068_293_511_867_523_2,
            -0.023_790_234_699_845_314,
            0.002_579_434_774_816_036_2,
            0.001_994_474_558_159_709,
            -0.000_798_339_140_601_456_2,
            -0.000_277_326_907_962_560_65,
        ],
    );
    let one = constant(b, x, 1.0);
    let divisor = arithmetic.add_multiple(b, x, 2.0, one);
    b.binary(BinaryOp::FloatDiv, p, divisor)
}

/// Computes e^(−x²) for 0 ≤ x ≤ 10.1. A fused product finds the rounding error of the square. It is so small that two terms of its series are enough.
fn fused_power(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    let square = b.mul(x, x);
    let negated = b.unary(UnaryOp::Neg, x);
    let excess = b.fma(negated, x, square);
    let power = exp_of_negative_within(b, arithmetic, square);
    b.fma(power, excess, power)
}

/// Computes e^(x²) erfc x for 0 ≤ x ≤ 10.1 as p(t) ÷ (x + 1.5) with t = (x − 1.5) ÷ (x + 1.5). It needs one reciprocal. The relative error is 2⁻²⁵·⁹
/// before rounding.
fn fused_ratio(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    let divisor = add_constant(b, x, FUSED_CENTRE);
    let negated = negative_reciprocal(b, divisor);
    let one = constant(b, x, 1.0);
    let t = arithmetic.add_multiple(b, negated, 2.0 * FUSED_CENTRE, one);
    let negated_p = arithmetic.polynomial(
        b,
        t,
        &[
            -0.964_756_250_381_469_7,
            0.507_850_050_926_208_5,
            -0.075_622_551_143_169_4,
            -0.047_769_553_959_369_66,
            0.008_132_471_702_992_916,
            0.009_472_721_256_315_708,
            0.000_743_305_950_891_226_5,
            -0.001_824_947_423_301_637_2,
            -0.000_739_723_793_230_950_8,
            0.000_169_452_250_702_306_63,
            0.000_140_493_939_397_856_6,
        ],
    );
    b.mul(negated_p, negated)
}
