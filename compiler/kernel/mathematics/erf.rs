//! The error function.

use super::{Arithmetic, constant, exp, is_wide, wide, with_sign};
use crate::{BinaryOp, CompareOp, KernelBuilder, UnaryOp, Value};

/// Upper limit of the polynomial. Above it, 1 − erfc x cancels little.
const SMALL: f64 = 0.92;
/// Argument from which the result is 1 in binary32.
const ONE_FROM: f64 = 4.0;

/// Computes the error function, 2/√π ∫₀ˣ e^(−t²) dt, within 2 ulp. The sign of zero is kept.
pub fn erf(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    if is_wide(b, x) {
        return wide::erf(b, x);
    }
    let magnitude = b.unary(UnaryOp::Abs, x);
    let small = erf_small(b, arithmetic, magnitude);
    let large = erf_large(b, arithmetic, magnitude);
    let bound = constant(b, x, SMALL);
    let is_small = b.compare(CompareOp::Less, magnitude, bound);
    let result = b.select(is_small, small, large);
    with_sign(b, result, x)
}

/// Computes x + x p(x²) for 0 ≤ x ≤ 0.92, with a relative error of 2⁻²⁶ before rounding.
fn erf_small(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    let square = b.mul(x, x);
    let p = arithmetic.polynomial(
        b,
        square,
        &[
            0.128_379_151_225_090_03,
            -0.376_125_007_867_813_1,
            0.112_818_770_110_607_15,
            -0.026_768_580_079_078_674,
            0.004_995_854_105_800_39,
            -0.000_600_381_114_054_471_3,
        ],
    );
    arithmetic.multiply_add(b, x, p, x)
}

/// Computes 1 − e^(x q(x)) for x ≥ 0.92, where x q(x) is ln(erfc x). The absolute error of the result is 2⁻²⁸ before rounding.
fn erf_large(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    let bound = constant(b, x, ONE_FROM);
    let x = b.binary(BinaryOp::FloatMinFirst, x, bound);
    let q = arithmetic.polynomial(
        b,
        x,
        &[
            -1.128_510_713_577_270_5,
            -0.635_731_101_036_071_8,
            -0.105_244_427_919_387_82,
            0.022_878_456_860_780_716,
            -0.003_211_270_319_297_909_7,
            0.000_213_527_629_966_847_6,
        ],
    );
    let exponent = b.mul(x, q);
    let complement = exp(b, arithmetic, exponent);
    let one = constant(b, x, 1.0);
    b.sub(one, complement)
}
