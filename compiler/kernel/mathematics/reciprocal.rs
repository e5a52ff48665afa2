//! Reciprocals by products and sums. On many machines a 512-bit division takes as long as thirty of these, and blocks other divisions meanwhile.

use super::{constant, integer_lane};
use crate::{ConvertOp, KernelBuilder, Value};

/// Bits of −2¹²⁷. Minus the bits of d, they approximate the bits of −1/d, since a mantissa approximates a logarithm.
const NEGATED: i64 = 0xff00_0000_u32 as i32 as i64;

/// Computes −1/d within 1 ulp by fused products, for binary32 numbers from 1 to 2¹²⁵.
///
/// The first guess y is linear between powers of two, so that −dy is in 1..=1.125. A polynomial of −dy corrects y to a relative error of 2⁻¹⁴·². A
/// step of Newton's method corrects the result. Everything is negated, since the language has no fused product that is subtracted.
pub fn negative_reciprocal(b: &mut KernelBuilder, d: Value) -> Value {
    let float = b.ty(d).lane;
    let bits = b.convert(ConvertOp::Bitcast, d, integer_lane(b, d));
    let negated = b.int(b.ty(bits), NEGATED);
    let guess = b.sub(negated, bits);
    let guess = b.convert(ConvertOp::Bitcast, guess, float);
    let product = b.mul(d, guess);
    let [c0, c1, c2] = [2.828_427_076_339_721_7, 2.664_353_847_503_662, 0.835_875_749_588_012_7].map(|c| constant(b, d, c));
    let factor = b.fma(c2, product, c1);
    let factor = b.fma(factor, product, c0);
    let y = b.mul(guess, factor);
    let one = constant(b, d, 1.0);
    let error = b.fma(d, y, one);
    b.fma(y, error, y)
}
