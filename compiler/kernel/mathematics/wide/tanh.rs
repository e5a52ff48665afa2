//! The hyperbolic tangent.

use super::super::{add_constant, constant, polynomial, with_sign};
use super::exp::exp;
use crate::{BinaryOp, CompareOp, KernelBuilder, UnaryOp, Value};

/// Upper limit of the quotient of polynomials. Above it, 1 − 2 ÷ (e²ˣ + 1) cancels little.
const SMALL: f64 = 0.625;

/// Computes the hyperbolic tangent within 2 ulp. The sign of zero is kept.
pub fn tanh(b: &mut KernelBuilder, x: Value) -> Value {
    let magnitude = b.unary(UnaryOp::Abs, x);
    let small = tanh_small(b, magnitude);
    let double = b.add(magnitude, magnitude);
    let power = exp(b, double);
    let denominator = add_constant(b, power, 1.0);
    let two = constant(b, x, 2.0);
    let quotient = b.binary(BinaryOp::FloatDiv, two, denominator);
    let one = constant(b, x, 1.0);
    let large = b.sub(one, quotient);
    let bound = constant(b, x, SMALL);
    let is_small = b.compare(CompareOp::Less, magnitude, bound);
    let result = b.select(is_small, small, large);
    with_sign(b, result, x)
}

/// Computes x + x³ p(x²) ÷ q(x²) for 0 ≤ x ≤ 0.625, with a relative error of 2⁻⁵⁸ before rounding (Remez; the form of Cephes).
fn tanh_small(b: &mut KernelBuilder, x: Value) -> Value {
    let square = b.mul(x, x);
    let p = polynomial(b, square, &[-1_614.687_684_417_084_5, -99.287_723_100_191_86, -0.964_399_179_425_052_2]);
    let q = polynomial(b, square, &[4_844.063_053_251_255, 2_235.488_390_601_004_5, 112.811_678_491_632_93, 1.0]);
    let quotient = b.binary(BinaryOp::FloatDiv, p, q);
    let cube = b.mul(square, x);
    let tail = b.mul(cube, quotient);
    b.add(x, tail)
}
