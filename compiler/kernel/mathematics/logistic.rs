//! The logistic function.

use super::exp::exp_of_negative;
use super::{Arithmetic, add_constant, constant};
use crate::{BinaryOp, KernelBuilder, Value};

/// Computes 1 / (1 + e⁻ˣ) within 3 ulp if the result is normal. Results below 2⁻¹²⁸ (binary32) or 2⁻¹⁰²⁴ (binary64) are 0.
pub fn logistic(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    let power = exp_of_negative(b, arithmetic, x);
    let denominator = add_constant(b, power, 1.0);
    let one = constant(b, x, 1.0);
    b.binary(BinaryOp::FloatDiv, one, denominator)
}
