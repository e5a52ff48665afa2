//! Reduction of angles of many turns (Payne and Hanek, 1983). The product with 2/π counts quarter turns, and whole turns in it do not matter. So 2/π
//! is split into parts, short enough for exact products, and whole turns are dropped from each product.

use super::{ROUNDER, add_constant, constant, integer_lane, mul_constant};
use crate::{CompareOp, ConvertOp, HorizontalOp, KernelBuilder, Value};
use std::f64::consts;

/// 1.5 · 2⁵⁴. A number below [`WHOLE`] plus this is rounded to whole turns, which are four quarters each.
const TURN_ROUNDER: f64 = 27_021_597_764_222_976.0;
/// 2⁵⁴. Numbers from here on are whole turns.
const WHOLE: f64 = 18_014_398_509_481_984.0;

/// Bits of a word of [`TWO_OVER_PI`].
pub const WORD_BITS: i32 = 24;
/// Digits of 2/π after the point, in words of [`WORD_BITS`].
pub const TWO_OVER_PI: [u32; 50] = [
    0xa2f983, 0x6e4e44, 0x1529fc, 0x2757d1, 0xf534dd, 0xc0db62, 0x95993c, 0x439041, 0xfe5163, 0xabdebb, 0xc561b7, 0x246e3a, 0x424dd2,
    0xe00649, 0x2eea09, 0xd1921c, 0xfe1deb, 0x1cb129, 0xa73ee8, 0x8235f5, 0x2ebb44, 0x84e99c, 0x7026b4, 0x5f7e41, 0x3991d6, 0x398353,
    0x39f49c, 0x845f8b, 0xbdf928, 0x3b1ff8, 0x97ffde, 0x05980f, 0xef2f11, 0x8b5a0a, 0x6d1f6d, 0x367ecf, 0x27cb09, 0xb74f46, 0x3f669e,
    0x5fea2d, 0x7527ba, 0xc7ebe5, 0xf17b3d, 0x0739f7, 0x8a5292, 0xea6bfb, 0x5fb11f, 0x8d5d08, 0x560330, 0x46fc7b,
];
/// Words of 2/π that a binary32 angle needs. The remaining words contribute less than 2⁻⁶⁴ quarter turns.
const SHORT_WORDS: usize = 8;

/// Computes `far` for lanes whose magnitude is beyond a bound, and returns `near` for the others. Such lanes are rare, so `far` is computed only for
/// vectors that contain one.
pub fn where_beyond(
    b: &mut KernelBuilder,
    magnitude: Value,
    bound: f64,
    near: Vec<Value>,
    far: impl FnOnce(&mut KernelBuilder) -> Vec<Value>,
) -> Vec<Value> {
    let some = some_beyond(b, magnitude, bound);
    let selected = |b: &mut KernelBuilder| {
        let bound = constant(b, magnitude, bound);
        let beyond = b.compare(CompareOp::Greater, magnitude, bound);
        let far = far(b);
        far.into_iter().zip(&near).map(|(far, &near)| b.select(beyond, far, near)).collect()
    };
    b.if_else(some, selected, |_| near.clone())
}

/// Tests whether the magnitude of some lane is beyond a bound; NaN counts as beyond. Non-negative floats have the order of their bits.
fn some_beyond(b: &mut KernelBuilder, magnitude: Value, bound: f64) -> Value {
    let lane = integer_lane(b, magnitude);
    let bits = b.convert(ConvertOp::Bitcast, magnitude, lane);
    let largest = if b.ty(bits).lanes > 1 { b.horizontal(HorizontalOp::Max, bits) } else { bits };
    let bound = if lane.bytes() == 8 { bound.to_bits() as i64 } else { i64::from((bound as f32).to_bits()) };
    let bound = b.int(b.ty(largest), bound);
    b.compare(CompareOp::Greater, largest, bound)
}

/// A reduced angle.
pub struct Reduced {
    /// The quarter turns. An integer, or a float plus [`ROUNDER`].
    pub quarter: Value,
    /// The remainder.
    pub remainder: Value,
}

/// Returns the quarter turn nearest to a binary32 angle, plus [`ROUNDER`], and the remainder with a relative error of 2⁻³⁰. Sums are exact until a
/// part is below their last bit. No angle of 24 bits is nearer to a quarter turn than 2⁻³⁰.
pub fn short_remainder(b: &mut KernelBuilder, angle: Value) -> Reduced {
    let (mut rounded, mut rest) = (constant(b, angle, ROUNDER), constant(b, angle, 0.0));
    for (word, exponent) in TWO_OVER_PI[..SHORT_WORDS].iter().zip(1..) {
        let product = mul_constant(b, angle, f64::from(*word) * f64::powi(2.0, -WORD_BITS * exponent));
        let quarters = beyond_turns(b, product);
        rest = b.add(rest, quarters);
        let next = add_constant(b, rest, ROUNDER);
        let n = add_constant(b, next, -ROUNDER);
        rest = b.sub(rest, n);
        rounded = b.add(rounded, n);
    }
    Reduced { quarter: rounded, remainder: mul_constant(b, rest, consts::FRAC_PI_2) }
}

/// Removes whole turns from quarter turns above −2⁵⁴. The result is exact and in −2..=2; infinity gives NaN.
pub fn beyond_turns(b: &mut KernelBuilder, quarters: Value) -> Value {
    let rounded = add_constant(b, quarters, TURN_ROUNDER);
    let turns = add_constant(b, rounded, -TURN_ROUNDER);
    let rest = b.sub(quarters, turns);
    let whole = constant(b, quarters, WHOLE);
    let is_whole = b.compare(CompareOp::GreaterEqual, quarters, whole);
    let nothing = b.sub(quarters, quarters);
    b.select(is_whole, nothing, rest)
}
