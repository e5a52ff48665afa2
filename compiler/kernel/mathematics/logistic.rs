//! The logistic function.

use super::{add_constant, constant, exp};
use crate::kernel::{BinaryOp, KernelBuilder, UnaryOp, Value};

/// 1 / (1 + e⁻ˣ), of binary32 or binary64, within 3 ulp where the result is normal; results below 2⁻¹²⁸ or 2⁻¹⁰²⁴ are 0.
pub fn logistic(b: &mut KernelBuilder, x: Value) -> Value {
    let negated = b.unary(UnaryOp::Neg, x);
    let power = exp(b, negated);
    let denominator = add_constant(b, power, 1.0);
    let one = constant(b, x, 1.0);
    b.binary(BinaryOp::FloatDiv, one, denominator)
}
