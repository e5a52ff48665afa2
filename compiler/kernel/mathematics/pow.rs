//! Powers.

use super::special::with_sign_of_power;
use super::{add_constant, between, constant, is_wide, polynomial, wide};
use crate::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, Lane, UnaryOp, Value};

/// 1.5 · 2⁵². A number plus this is rounded to an integer in the low bits of the sum.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// 2⁵². A smaller integer is added to it by a bitwise or.
const INTEGER: f64 = 4_503_599_627_370_496.0;
/// Exponent beyond which results are ∞ or 0 in binary32.
const LARGEST_POWER: f64 = 160.0;

/// Computes xʸ within 1 ulp, by binary64 arithmetic. It overflows to ∞, and denormal results are correct. Special operands follow C99. 1ʸ and x⁰ are
/// 1 even for NaN. A negative number to a power that is not an integer is NaN. Zeros and infinities keep their sign for odd powers.
pub fn pow(b: &mut KernelBuilder, x: Value, y: Value) -> Value {
    if is_wide(b, x) {
        return wide::pow(b, x, y);
    }
    let magnitude = power_of_magnitude(b, x, y);
    let signed = with_sign_of_power(b, magnitude, x, y);
    let (zero, one) = (constant(b, x, 0.0), constant(b, x, 1.0));
    let no_power = b.compare(CompareOp::Equal, y, zero);
    let of_one = b.compare(CompareOp::Equal, x, one);
    let is_one = b.binary(BinaryOp::Or, no_power, of_one);
    b.select(is_one, one, signed)
}

/// Computes |x|ʸ.
fn power_of_magnitude(b: &mut KernelBuilder, x: Value, y: Value) -> Value {
    // Powers are made finite, so that their product with 0, the logarithm of 1, is 0.
    let y = between(b, y, f64::from(f32::MIN), f64::from(f32::MAX));
    let y = b.convert(ConvertOp::Promote, y, Lane::F64);
    let x = b.unary(UnaryOp::Abs, x);
    let x = b.convert(ConvertOp::Promote, x, Lane::F64);
    let logarithm = log2(b, x);
    let exponent = b.mul(y, logarithm);
    let power = exp2(b, exponent);
    b.convert(ConvertOp::Demote, power, Lane::F32)
}

/// Computes log₂ x with a relative error of 2⁻⁴⁵, for binary64 lanes that hold 0, +∞, NaN or magnitudes of binary32 numbers.
fn log2(b: &mut KernelBuilder, x: Value) -> Value {
    let (mantissa, exponent) = split(b, x);
    let numerator = add_constant(b, mantissa, -1.0);
    let denominator = add_constant(b, mantissa, 1.0);
    let s = b.binary(BinaryOp::FloatDiv, numerator, denominator);
    let square = b.mul(s, s);
    let p = polynomial(
        b,
        square,
        &[
            2.885_390_081_777_849_5,
            0.961_796_694_114_213_5,
            0.577_077_942_119_097_6,
            0.412_209_276_634_993_35,
            0.319_904_721_180_564_07,
            0.282_913_868_164_455_46,
        ],
    );
    let fraction = b.mul(s, p);
    let result = b.add(exponent, fraction);
    let (zero, infinity) = (constant(b, x, 0.0), constant(b, x, f64::INFINITY));
    let pole = constant(b, x, f64::NEG_INFINITY);
    let is_zero = b.compare(CompareOp::Equal, x, zero);
    let special = b.select(is_zero, pole, x);
    let positive = b.compare(CompareOp::Greater, x, zero);
    let finite = b.compare(CompareOp::Less, x, infinity);
    let ordinary = b.binary(BinaryOp::And, positive, finite);
    b.select(ordinary, result, special)
}

/// Splits a positive binary64 number into a mantissa in √½..√2 and an exponent of two.
fn split(b: &mut KernelBuilder, x: Value) -> (Value, Value) {
    let one = 1f64.to_bits() as i64;
    let root_of_half = std::f64::consts::FRAC_1_SQRT_2.to_bits() as i64;
    let bits = b.convert(ConvertOp::Bitcast, x, Lane::I64);
    let integers = b.ty(bits);
    // A number of at least √½ times the next power of two gets the exponent of that power.
    let lift = b.int(integers, one - root_of_half);
    let lifted = b.add(bits, lift);
    let biased = b.shift(BinaryOp::ShiftRightUnsigned, lifted, 52);
    let carrier = b.int(integers, INTEGER.to_bits() as i64);
    let carried = b.binary(BinaryOp::Or, biased, carrier);
    let carried = b.convert(ConvertOp::Bitcast, carried, Lane::F64);
    let exponent = add_constant(b, carried, -(INTEGER + 1023.0));
    let mask = b.int(integers, (1 << 52) - 1);
    let fraction = b.binary(BinaryOp::And, lifted, mask);
    let root = b.int(integers, root_of_half);
    let mantissa = b.add(fraction, root);
    (b.convert(ConvertOp::Bitcast, mantissa, Lane::F64), exponent)
}

/// Computes 2ᵗ of binary64 lanes, with a relative error of 2⁻²⁹. Powers beyond ±160 give 2^±160.
fn exp2(b: &mut KernelBuilder, t: Value) -> Value {
    let t = between(b, t, -LARGEST_POWER, LARGEST_POWER);
    let rounded = add_constant(b, t, ROUNDER);
    let n = add_constant(b, rounded, -ROUNDER);
    let r = b.sub(t, n);
    let p = polynomial(
        b,
        r,
        &[
            1.000_000_000_555_060_2,
            0.693_147_205_767_141_2,
            0.240_226_468_859_993_6,
            0.055_503_287_117_559_856,
            0.009_618_489_254_864_708,
            0.001_339_995_765_186_91,
            0.000_153_457_860_407_142_58,
        ],
    );
    let bits = b.convert(ConvertOp::Bitcast, rounded, Lane::I64);
    let integers = b.ty(bits);
    let bias = b.int(integers, 1023);
    let biased = b.add(bits, bias);
    let scale = b.shift(BinaryOp::ShiftLeft, biased, 52);
    let scale = b.convert(ConvertOp::Bitcast, scale, Lane::F64);
    b.mul(p, scale)
}
