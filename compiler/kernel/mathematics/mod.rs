//! Mathematical functions as kernel instructions: polynomials and integer operations on exponents, without tables or a library.
//!
//! Functions take any number of binary32 or binary64 lanes, unless they name others, and return as many lanes. Most binary64 functions are in
//! `wide/`, which states their errors. Errors are in units of the last place (ulp) of the true result. They hold in round-to-nearest with denormals
//! on. Tests measure them over the whole range with the kernel interpreter. A NaN operand gives NaN unless stated otherwise.
//!
//! Functions with an [`Arithmetic`] use fused products and sums if the machine has them. Their results have equal bits on all machines with fused
//! products, for any number of lanes, and other bits on machines without. All other functions use separate products and sums. They have equal bits
//! everywhere.
//!
//! Polynomials, and quotients of polynomials, are minimax fits (Remez exchange). Coefficients were rounded to the working precision one by one, and
//! the others were fitted again after each.

mod arithmetic;
mod atan2;
mod cos;
mod erf;
mod erfc;
mod exp;
mod log;
mod logistic;
mod narrow;
mod normal;
mod pow;
mod quadrant;
mod reciprocal;
mod remainder;
mod rsqrt;
mod sin;
mod special;
mod tanh;
mod turns;
mod wide;

#[cfg(test)]
mod tests;

pub use arithmetic::Arithmetic;
pub use atan2::atan2;
pub use cos::cos;
pub use erf::erf;
pub use erfc::erfc;
pub use exp::exp;
pub use log::log;
pub use logistic::logistic;
pub use narrow::{bf16_of_f32, f32_of_bf16, f32_to_odd};
pub use normal::normal_cdf;
pub use pow::pow;
pub use remainder::remainder;
pub use rsqrt::rsqrt;
pub use sin::sin;
pub use tanh::tanh;

use super::{BinaryOp, ConvertOp, Inst, KernelBuilder, Lane, Value};

/// 1.5 · 2⁵². A binary64 plus this is rounded to an integer in the low bits of the sum.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// Tests whether a value's lanes are binary64.
fn is_wide(b: &KernelBuilder, x: Value) -> bool {
    b.ty(x).lane == Lane::F64
}

/// Makes a float constant of the type of `like`.
fn constant(b: &mut KernelBuilder, like: Value, value: f64) -> Value {
    let ty = b.ty(like);
    b.float(ty, value)
}

/// Computes c₀ + c₁x + c₂x² + … by separate products and sums.
fn polynomial(b: &mut KernelBuilder, x: Value, coefficients: &[f64]) -> Value {
    Arithmetic::PLAIN.polynomial(b, x, coefficients)
}

/// Computes x + c.
fn add_constant(b: &mut KernelBuilder, x: Value, c: f64) -> Value {
    let c = constant(b, x, c);
    b.add(x, c)
}

/// Computes x · c.
fn mul_constant(b: &mut KernelBuilder, x: Value, c: f64) -> Value {
    let c = constant(b, x, c);
    b.mul(x, c)
}

/// Clamps a value between two bounds. It is the first operand of both comparisons, so that NaN stays NaN.
fn between(b: &mut KernelBuilder, x: Value, bottom: f64, top: f64) -> Value {
    let is_above = is_at_least(b, x, bottom);
    let (top, bottom) = (constant(b, x, top), constant(b, x, bottom));
    let x = b.binary(BinaryOp::FloatMinFirst, x, top);
    if is_above { x } else { b.binary(BinaryOp::FloatMaxFirst, x, bottom) }
}

/// Tests whether a value was just limited from below by a number of at least `bottom`. The value may still be a NaN.
fn is_at_least(b: &KernelBuilder, x: Value, bottom: f64) -> bool {
    let Some(&Inst::Binary { op: BinaryOp::FloatMaxFirst, b: least, .. }) = b.definition(x) else { return false };
    let Some(&Inst::Constant { bits }) = b.definition(least) else { return false };
    let least = if is_wide(b, x) { f64::from_bits(bits) } else { f64::from(f32::from_bits(bits as u32)) };
    least >= bottom
}

/// Returns the integer lane with the width of a float's lane.
fn integer_lane(b: &KernelBuilder, x: Value) -> Lane {
    if b.ty(x).lane == Lane::F64 { Lane::I64 } else { Lane::I32 }
}

/// Gives a non-negative value the sign of another value.
fn with_sign(b: &mut KernelBuilder, magnitude: Value, sign: Value) -> Value {
    let (float, integer) = (b.ty(sign).lane, integer_lane(b, sign));
    let integers = b.ty(sign).with_lane(integer);
    let mask = b.int(integers, if integer == Lane::I64 { i64::MIN } else { i64::from(i32::MIN) });
    let sign = b.convert(ConvertOp::Bitcast, sign, integer);
    let sign = b.binary(BinaryOp::And, sign, mask);
    let bits = b.convert(ConvertOp::Bitcast, magnitude, integer);
    let bits = b.binary(BinaryOp::Or, bits, sign);
    b.convert(ConvertOp::Bitcast, bits, float)
}
