//! The logistic function.

use super::exp::exp_of_negative;
use super::{Arithmetic, add_constant, constant};
use crate::kernel::{BinaryOp, KernelBuilder, Value};

/// 1 / (1 + e⁻ˣ), of binary32 or binary64, within 3 ulp where the result is normal; results below 2⁻¹²⁸ or 2⁻¹⁰²⁴ are 0.
pub fn logistic(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    let power = exp_of_negative(b, arithmetic, x);
    let denominator = add_constant(b, power, 1.0);
    let one = constant(b, x, 1.0);
    b.binary(BinaryOp::FloatDiv, one, denominator)
}
