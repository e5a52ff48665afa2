//! The hyperbolic tangent.

use super::{add_constant, constant, exp, is_wide, polynomial, wide, with_sign};
use crate::kernel::{BinaryOp, CompareOp, KernelBuilder, UnaryOp, Value};

/// Below this magnitude the polynomial is taken: above it, 1 − 2 / (e²ˣ + 1) cancels little.
const SMALL: f64 = 0.625;

/// The hyperbolic tangent, within 2 ulp; keeps the sign of zero.
pub fn tanh(b: &mut KernelBuilder, x: Value) -> Value {
    if is_wide(b, x) {
        return wide::tanh(b, x);
    }
    let magnitude = b.unary(UnaryOp::Abs, x);
    let small = tanh_small(b, magnitude);
    let large = tanh_large(b, magnitude);
    let bound = constant(b, x, SMALL);
    let is_small = b.compare(CompareOp::Less, magnitude, bound);
    let result = b.select(is_small, small, large);
    with_sign(b, result, x)
}

/// x + x³ p(x²) for 0 ≤ x ≤ 0.625, with a relative error of 2⁻²⁷·⁷ before rounding.
fn tanh_small(b: &mut KernelBuilder, x: Value) -> Value {
    let square = b.mul(x, x);
    let p = polynomial(
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
    let tail = b.mul(cube, p);
    b.add(x, tail)
}

/// 1 − 2 / (e²ˣ + 1) for x not negative.
fn tanh_large(b: &mut KernelBuilder, x: Value) -> Value {
    let double = b.add(x, x);
    let power = exp(b, double);
    let denominator = add_constant(b, power, 1.0);
    let two = constant(b, x, 2.0);
    let quotient = b.binary(BinaryOp::FloatDiv, two, denominator);
    let one = constant(b, x, 1.0);
    b.sub(one, quotient)
}
