//! Numbers as a mantissa and an exponent of two.

use super::super::{add_constant, constant, mul_constant};
use crate::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, Lane, Value};

/// 2⁵². A smaller integer is added to it by a bitwise or.
const INTEGER: f64 = 4_503_599_627_370_496.0;
/// 2⁵⁴. The product with it makes denormal numbers normal.
const LIFT: f64 = 18_014_398_509_481_984.0;

/// Splits a positive finite number into a mantissa in √½..√2 and an exponent of two, as binary64. Other numbers give arbitrary finite results.
pub fn split(b: &mut KernelBuilder, x: Value) -> (Value, Value) {
    let smallest = constant(b, x, f64::MIN_POSITIVE);
    let denormal = b.compare(CompareOp::Less, x, smallest);
    let lifted = mul_constant(b, x, LIFT);
    let normal = b.select(denormal, lifted, x);
    let (one, root_of_half) = (1f64.to_bits() as i64, std::f64::consts::FRAC_1_SQRT_2.to_bits() as i64);
    let bits = b.convert(ConvertOp::Bitcast, normal, Lane::I64);
    let integers = b.ty(bits);
    // A number of at least √½ times the next power of two gets the exponent of that power.
    let up = b.int(integers, one - root_of_half);
    let moved = b.add(bits, up);
    let biased = b.shift(BinaryOp::ShiftRightUnsigned, moved, 52);
    let below = b.int(integers, 0x7ff);
    let biased = b.binary(BinaryOp::And, biased, below);
    let exponent = float_of(b, biased);
    let (plain, raised) = (constant(b, x, -1023.0), constant(b, x, -1023.0 - 54.0));
    let bias = b.select(denormal, raised, plain);
    let exponent = b.add(exponent, bias);
    let mask = b.int(integers, (1 << 52) - 1);
    let fraction = b.binary(BinaryOp::And, moved, mask);
    let root = b.int(integers, root_of_half);
    let mantissa = b.add(fraction, root);
    (b.convert(ConvertOp::Bitcast, mantissa, Lane::F64), exponent)
}

/// Converts an integer from 0 to 2⁵² to binary64.
pub fn float_of(b: &mut KernelBuilder, integer: Value) -> Value {
    let ty = b.ty(integer);
    let carrier = b.int(ty, INTEGER.to_bits() as i64);
    let carried = b.binary(BinaryOp::Or, integer, carrier);
    let carried = b.convert(ConvertOp::Bitcast, carried, Lane::F64);
    add_constant(b, carried, -INTEGER)
}
