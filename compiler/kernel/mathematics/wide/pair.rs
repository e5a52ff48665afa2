//! Pairs of binary64 lanes that represent their sum: the second keeps the rounding error of the first (Dekker, Knuth).

use super::super::mul_constant;
use crate::{KernelBuilder, Value};

/// 2²⁷ + 1. The product with it splits a number into two halves of its digits (Veltkamp).
const SPLITTER: f64 = 134_217_729.0;

/// A number as the sum of two numbers. The second is at most half a unit in the last place of the first.
#[derive(Clone, Copy)]
pub struct Pair {
    /// The rounded number.
    pub high: Value,
    /// Rounding error of `high`.
    pub low: Value,
}

/// Computes x + y exactly.
pub fn sum(b: &mut KernelBuilder, x: Value, y: Value) -> Pair {
    let high = b.add(x, y);
    let other = b.sub(high, x);
    let own = b.sub(high, other);
    let (rest_x, rest_y) = (b.sub(x, own), b.sub(y, other));
    Pair { high, low: b.add(rest_x, rest_y) }
}

/// Computes x + y exactly, if |x| is not below |y|.
pub fn ordered_sum(b: &mut KernelBuilder, x: Value, y: Value) -> Pair {
    let high = b.add(x, y);
    let other = b.sub(high, x);
    Pair { high, low: b.sub(y, other) }
}

/// Computes x · y exactly, for magnitudes below 2⁹⁹⁶ whose product is not denormal.
pub fn product(b: &mut KernelBuilder, x: Value, y: Value) -> Pair {
    let high = b.mul(x, y);
    let (x, y) = (halves(b, x), halves(b, y));
    let both = b.mul(x.high, y.high);
    let low = b.sub(both, high);
    let crossed = b.mul(x.high, y.low);
    let low = b.add(low, crossed);
    let crossed = b.mul(x.low, y.high);
    let low = b.add(low, crossed);
    let last = b.mul(x.low, y.low);
    Pair { high, low: b.add(low, last) }
}

/// Splits a number into two of at most 26 digits each.
fn halves(b: &mut KernelBuilder, x: Value) -> Pair {
    let scaled = mul_constant(b, x, SPLITTER);
    let rest = b.sub(scaled, x);
    let high = b.sub(scaled, rest);
    Pair { high, low: b.sub(x, high) }
}
