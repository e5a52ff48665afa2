//! The natural logarithm.

use super::special::log_of_special;
use super::{Arithmetic, add_constant, constant, is_wide, mul_constant, wide};
use crate::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, Lane, Value};
use std::f64::consts;

/// The smallest normal number of binary32.
const SMALLEST_NORMAL: f64 = f32::MIN_POSITIVE as f64;
/// The bits of √½. Mantissas are from √½ to √2, so that the logarithm is smallest for exponent 0.
const ROOT_OF_HALF: i64 = 0x3f35_04f3;

/// Computes ln x within 1 ulp, also for denormal operands. ±0 gives −∞, and negative numbers give NaN.
pub fn log(b: &mut KernelBuilder, arithmetic: Arithmetic, x: Value) -> Value {
    if is_wide(b, x) {
        return wide::log(b, x);
    }
    let (mantissa, exponent) = split(b, x);
    let f = add_constant(b, mantissa, -1.0);
    let result = log_of_product(b, arithmetic, f, exponent);
    let zero = constant(b, x, 0.0);
    let infinity = constant(b, x, f64::INFINITY);
    let positive = b.compare(CompareOp::Greater, x, zero);
    let finite = b.compare(CompareOp::Less, x, infinity);
    let ordinary = b.binary(BinaryOp::And, positive, finite);
    let special = log_of_special(b, x, zero);
    b.select(ordinary, result, special)
}

/// Splits a positive number into a mantissa in √½..√2 and an exponent of two.
fn split(b: &mut KernelBuilder, x: Value) -> (Value, Value) {
    let smallest = constant(b, x, SMALLEST_NORMAL);
    let denormal = b.compare(CompareOp::Less, x, smallest);
    let scaled = mul_constant(b, x, 16_777_216.0);
    let normal = b.select(denormal, scaled, x);
    let bits = b.convert(ConvertOp::Bitcast, normal, Lane::I32);
    let integers = b.ty(bits);
    let root = b.int(integers, ROOT_OF_HALF);
    let offset = b.sub(bits, root);
    let exponent = b.shift(BinaryOp::ShiftRightSigned, offset, 23);
    let exponent = b.convert(ConvertOp::SignedToFloat, exponent, Lane::F32);
    let none = constant(b, x, 0.0);
    let scale = constant(b, x, 24.0);
    let scale = b.select(denormal, scale, none);
    let exponent = b.sub(exponent, scale);
    let mask = b.int(integers, 0x007f_ffff);
    let fraction = b.binary(BinaryOp::And, offset, mask);
    let mantissa = b.add(fraction, root);
    (b.convert(ConvertOp::Bitcast, mantissa, Lane::F32), exponent)
}

/// Computes n ln 2 + ln(1 + f). The part f − f²/2 + f³ p(f) has a relative error of 2⁻²⁶·⁷ before rounding. The exact part of n ln 2 is added last.
fn log_of_product(b: &mut KernelBuilder, arithmetic: Arithmetic, f: Value, n: Value) -> Value {
    let p = arithmetic.polynomial(
        b,
        f,
        &[
            0.333_333_313_465_118_4,
            -0.250_008_225_440_979,
            0.200_012_609_362_602_23,
            -0.166_233_509_778_976_44,
            0.142_009_124_159_812_93,
            -0.131_585_881_114_006_04,
            0.127_636_194_229_125_98,
            -0.076_393_179_595_470_43,
        ],
    );
    let square = b.mul(f, f);
    let cube = b.mul(square, f);
    let tail = b.mul(cube, p);
    let tail = arithmetic.add_multiple(b, n, consts::LN_2 - 0.693_359_375, tail);
    let tail = arithmetic.add_multiple(b, square, -0.5, tail);
    let sum = b.add(f, tail);
    arithmetic.add_multiple(b, n, 0.693_359_375, sum)
}
