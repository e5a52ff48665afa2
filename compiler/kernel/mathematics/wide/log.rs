//! The natural logarithm.

use super::super::special::log_of_special;
use super::super::{add_constant, constant, mul_constant, polynomial};
use super::exp::{LN_2_HIGH, LN_2_LOW};
use super::split::split;
use crate::{BinaryOp, CompareOp, KernelBuilder, Value};

/// Computes ln x within 1 ulp, also for denormal operands. ±0 gives −∞, and negative numbers give NaN.
pub fn log(b: &mut KernelBuilder, x: Value) -> Value {
    let (mantissa, exponent) = split(b, x);
    let f = add_constant(b, mantissa, -1.0);
    let result = log_of_product(b, f, exponent);
    let (zero, infinity) = (constant(b, x, 0.0), constant(b, x, f64::INFINITY));
    let positive = b.compare(CompareOp::Greater, x, zero);
    let finite = b.compare(CompareOp::Less, x, infinity);
    let ordinary = b.binary(BinaryOp::And, positive, finite);
    let special = log_of_special(b, x, zero);
    b.select(ordinary, result, special)
}

/// Computes n ln 2 + ln(1 + f) with s = f ÷ (2 + f). The part f − (f²/2 − s (f²/2 + s² p(s²))) has a relative error of 2⁻⁵⁸ before rounding
/// (Remez; FDLIBM's form).
fn log_of_product(b: &mut KernelBuilder, f: Value, n: Value) -> Value {
    let divisor = add_constant(b, f, 2.0);
    let s = b.binary(BinaryOp::FloatDiv, f, divisor);
    let z = b.mul(s, s);
    let p = polynomial(
        b,
        z,
        &[
            0.666_666_666_666_673_5,
            0.399_999_999_994_094_2,
            0.285_714_287_436_623_9,
            0.222_221_984_321_497_84,
            0.181_835_721_616_180_5,
            0.153_138_376_992_093_73,
            0.147_981_986_051_165_86,
        ],
    );
    let p = b.mul(z, p);
    let square = b.mul(f, f);
    let half = mul_constant(b, square, 0.5);
    let sum = b.add(half, p);
    let tail = b.mul(s, sum);
    let low = mul_constant(b, n, LN_2_LOW);
    let tail = b.add(tail, low);
    let rest = b.sub(half, tail);
    let rest = b.sub(rest, f);
    let high = mul_constant(b, n, LN_2_HIGH);
    b.sub(high, rest)
}
