//! The reciprocal of the square root.

use super::constant;
use crate::{BinaryOp, KernelBuilder, UnaryOp, Value};

/// Computes 1/√x in two correctly rounded steps, within 2 ulp: the error of the root may count double. ±0 gives ±∞, and negative numbers give NaN.
pub fn rsqrt(b: &mut KernelBuilder, x: Value) -> Value {
    let root = b.unary(UnaryOp::Sqrt, x);
    let one = constant(b, x, 1.0);
    b.binary(BinaryOp::FloatDiv, one, root)
}
