//! Constants, polynomials, bounds and signs, of which all functions are made.

use crate::{BinaryOp, ConvertOp, Inst, KernelBuilder, Lane, Value};

/// 1.5 · 2⁵². A binary64 plus this is rounded to an integer in the low bits of the sum.
pub(super) const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// Tests whether a value's lanes are binary64.
pub(super) fn is_wide(b: &KernelBuilder, x: Value) -> bool {
    b.ty(x).lane == Lane::F64
}

/// Makes a float constant of the type of `like`.
pub(super) fn constant(b: &mut KernelBuilder, like: Value, value: f64) -> Value {
    let ty = b.ty(like);
    b.float(ty, value)
}

/// Computes x + c.
pub(super) fn add_constant(b: &mut KernelBuilder, x: Value, c: f64) -> Value {
    let c = constant(b, x, c);
    b.add(x, c)
}

/// Computes x · c.
pub(super) fn mul_constant(b: &mut KernelBuilder, x: Value, c: f64) -> Value {
    let c = constant(b, x, c);
    b.mul(x, c)
}

/// Clamps a value between two bounds. It is the first operand of both comparisons, so that NaN stays NaN.
pub(super) fn between(b: &mut KernelBuilder, x: Value, bottom: f64, top: f64) -> Value {
    let is_above = is_at_least(b, x, bottom);
    let (top, bottom) = (constant(b, x, top), constant(b, x, bottom));
    let x = b.binary(BinaryOp::FloatMinFirst, x, top);
    if is_above { x } else { b.binary(BinaryOp::FloatMaxFirst, x, bottom) }
}

/// Tests whether a value was just limited from below by a number of at least `bottom`. The value may still be a NaN.
pub(super) fn is_at_least(b: &KernelBuilder, x: Value, bottom: f64) -> bool {
    let Some(&Inst::Binary { op: BinaryOp::FloatMaxFirst, b: least, .. }) = b.definition(x) else { return false };
    let Some(&Inst::Constant { bits }) = b.definition(least) else { return false };
    let least = if is_wide(b, x) { f64::from_bits(bits) } else { f64::from(f32::from_bits(bits as u32)) };
    least >= bottom
}

/// Returns the integer lane with the width of a float's lane.
pub(super) fn integer_lane(b: &KernelBuilder, x: Value) -> Lane {
    if b.ty(x).lane == Lane::F64 { Lane::I64 } else { Lane::I32 }
}

/// Gives a non-negative value the sign of another value.
pub(super) fn with_sign(b: &mut KernelBuilder, magnitude: Value, sign: Value) -> Value {
    let (float, integer) = (b.ty(sign).lane, integer_lane(b, sign));
    let integers = b.ty(sign).with_lane(integer);
    let mask = b.int(integers, if integer == Lane::I64 { i64::MIN } else { i64::from(i32::MIN) });
    let sign = b.convert(ConvertOp::Bitcast, sign, integer);
    let sign = b.binary(BinaryOp::And, sign, mask);
    let bits = b.convert(ConvertOp::Bitcast, magnitude, integer);
    let bits = b.binary(BinaryOp::Or, bits, sign);
    b.convert(ConvertOp::Bitcast, bits, float)
}
