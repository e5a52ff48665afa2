//! The distribution function of the standard normal distribution.

use super::{add_constant, between, constant, erf, is_wide, mul_constant, polynomial};
use crate::kernel::{BinaryOp, KernelBuilder, Value};
use std::f64::consts::FRAC_1_SQRT_2;

/// From here on the result is 1 in binary32.
const ONE_FROM: f64 = 5.45;

/// ½ (1 + erf(x ÷ √2)), with an absolute error of 2⁻²² in binary32: it is 0 and 1 beyond ±5.45, never below 0, and above 1 by one ulp at most. In
/// binary64 it is the sum.
///
/// GELU is x times this. Half of the operations of [`erf`] do, since numbers close to 0 are not told apart.
pub fn normal_cdf(b: &mut KernelBuilder, x: Value) -> Value {
    let half = constant(b, x, 0.5);
    if is_wide(b, x) {
        let argument = mul_constant(b, x, FRAC_1_SQRT_2);
        let erf = erf(b, argument);
        let sum = add_constant(b, erf, 1.0);
        return b.mul(half, sum);
    }
    let x = between(b, x, -ONE_FROM, ONE_FROM);
    let difference = difference_from_half(b, x);
    let sum = b.add(half, difference);
    let zero = constant(b, x, 0.0);
    b.binary(BinaryOp::FloatMaxFirst, sum, zero)
}

/// x p(x²) / q(x²), which is Φ(x) − ½ for |x| ≤ 5.45, where no rounding takes it further from the truth than 3.8 · 2⁻²⁴, and ½ at 5.45.
fn difference_from_half(b: &mut KernelBuilder, x: Value) -> Value {
    let square = b.mul(x, x);
    let p = polynomial(
        b,
        square,
        &[
            0.398_941_785_097_122_2,
            0.033_817_876_130_342_484,
            0.004_672_694_951_295_853,
            0.000_168_113_285_326_398_9,
            0.000_006_313_905_032_584_444,
            0.000_000_022_570_027_624_624_35,
        ],
    );
    let q = polynomial(
        b,
        square,
        &[
            0.999_998_688_697_814_9,
            0.251_435_011_625_289_9,
            0.028_619_559_481_739_998,
            0.001_880_677_998_997_271,
            0.000_073_240_777_887_460_59,
            0.000_001_189_418_867_397_762_4,
        ],
    );
    let numerator = b.mul(x, p);
    b.binary(BinaryOp::FloatDiv, numerator, q)
}
