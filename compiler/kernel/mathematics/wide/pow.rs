//! Powers.

use super::super::special::with_sign_of_power;
use super::super::{add_constant, between, constant, mul_constant, polynomial};
use super::exp::{LN_2_HIGH, LN_2_LOW, exp_of_sum};
use super::pair::{Pair, ordered_sum, product, sum};
use super::split::split;
use crate::{BinaryOp, CompareOp, KernelBuilder, UnaryOp, Value};

/// 2⁶⁵. Larger exponents give the same result as this one: 0, 1 or ∞.
const LARGEST_EXPONENT: f64 = 36_893_488_147_419_103_232.0;
/// ⅓ as a pair.
const THIRD: [f64; 2] = [0.333_333_333_333_333_3, 1.850_371_707_708_594e-17];

/// Computes xʸ within 2 ulp. It overflows to ∞, and denormal results are correct to the last unit. Special operands follow C99. 1ʸ and x⁰ are 1 even
/// for NaN. A negative number to a power that is not an integer is NaN. Zeros and infinities keep their sign for odd powers.
pub fn pow(b: &mut KernelBuilder, x: Value, y: Value) -> Value {
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
    let limited = between(b, y, -LARGEST_EXPONENT, LARGEST_EXPONENT);
    let size = b.unary(UnaryOp::Abs, x);
    let logarithm = log_of(b, size);
    let exponent = product(b, limited, logarithm.high);
    let more = b.mul(limited, logarithm.low);
    let rest = b.add(exponent.low, more);
    // Only exponents that overflow anyway are outside these bounds.
    let rest = between(b, rest, -1e-4, 1e-4);
    let power = exp_of_sum(b, exponent.high, rest);
    of_special(b, power, size, y)
}

/// Selects the power of a base that is 0, ∞ or NaN, or else `power`.
fn of_special(b: &mut KernelBuilder, power: Value, size: Value, y: Value) -> Value {
    let (zero, infinity) = (constant(b, size, 0.0), constant(b, size, f64::INFINITY));
    let falls = b.compare(CompareOp::Less, y, zero);
    let (of_zero, of_infinity) = (b.select(falls, infinity, zero), b.select(falls, zero, infinity));
    // The sum is NaN if one operand is NaN.
    let unknown = b.add(size, y);
    let mut result = power;
    for (special, value) in [(zero, of_zero), (infinity, of_infinity)] {
        let is_special = b.compare(CompareOp::Equal, size, special);
        result = b.select(is_special, value, result);
    }
    for operand in [size, y] {
        let is_nan = b.compare(CompareOp::NotEqual, operand, operand);
        result = b.select(is_nan, unknown, result);
    }
    result
}

/// Computes ln x of a positive finite number as a pair, with a relative error of 2⁻⁶². Other numbers give an arbitrary finite pair. For the mantissa
/// m and s = (m − 1) ÷ (m + 1), it is 2 s (1 + s²/3 + s⁴/5 + …). The first two terms are pairs.
fn log_of(b: &mut KernelBuilder, x: Value) -> Pair {
    let (mantissa, exponent) = split(b, x);
    let s = ratio(b, mantissa);
    let square = product(b, s.high, s.high);
    let twice = b.add(s.high, s.high);
    let crossed = b.mul(twice, s.low);
    let square_low = b.add(square.low, crossed);
    let third = constant(b, x, THIRD[0]);
    let term = product(b, square.high, third);
    let more = mul_constant(b, square.high, THIRD[1]);
    let low = b.add(term.low, more);
    let more = b.mul(square_low, third);
    let term_low = b.add(low, more);
    // s² is below 0.0295, so twelve terms of the series are enough.
    let coefficients: Vec<f64> = (2..=13).map(|k| 1.0 / f64::from(2 * k + 1)).collect();
    let tail = polynomial(b, square.high, &coefficients);
    let fourth = b.mul(square.high, square.high);
    let tail = b.mul(fourth, tail);
    let series = sum(b, term.high, tail);
    let series_low = b.add(series.low, term_low);
    let twice_low = b.add(s.low, s.low);
    let part = product(b, twice, series.high);
    let more = b.mul(twice, series_low);
    let low = b.add(part.low, more);
    let more = b.mul(twice_low, series.high);
    let low = b.add(low, more);
    let fraction = ordered_sum(b, twice, part.high);
    let low = b.add(fraction.low, low);
    let low = b.add(low, twice_low);
    let whole = mul_constant(b, exponent, LN_2_HIGH);
    let more = mul_constant(b, exponent, LN_2_LOW);
    let total = sum(b, whole, fraction.high);
    let low = b.add(low, more);
    let low = b.add(low, total.low);
    ordered_sum(b, total.high, low)
}

/// Computes (m − 1) ÷ (m + 1).
fn ratio(b: &mut KernelBuilder, m: Value) -> Pair {
    let one = constant(b, m, 1.0);
    let numerator = add_constant(b, m, -1.0);
    let denominator = sum(b, m, one);
    let high = b.binary(BinaryOp::FloatDiv, numerator, denominator.high);
    let back = product(b, high, denominator.high);
    let rest = b.sub(numerator, back.high);
    let rest = b.sub(rest, back.low);
    let more = b.mul(high, denominator.low);
    let rest = b.sub(rest, more);
    Pair { high, low: b.binary(BinaryOp::FloatDiv, rest, denominator.high) }
}
