//! Angles of many turns. Of their product with 2/π, which counts quarter turns, only what it has beyond whole turns says anything. So 2/π is taken in
//! parts, short enough for exact products, and whole turns go from each of these (Payne and Hanek, 1983).

use super::{ROUNDER, add_constant, constant, integer_lane, mul_constant};
use crate::kernel::{CompareOp, ConvertOp, HorizontalOp, KernelBuilder, Value};
use std::f64::consts;

/// 1.5 · 2⁵⁴: a number below [`WHOLE`] added to it is rounded to whole turns, which are four quarters.
const TURN_ROUNDER: f64 = 27_021_597_764_222_976.0;
/// 2⁵⁴: from here on numbers are whole turns.
const WHOLE: f64 = 18_014_398_509_481_984.0;

/// Bits of a word of [`TWO_OVER_PI`].
pub const WORD_BITS: i32 = 24;
/// 2/π below the point, in words of [`WORD_BITS`].
pub const TWO_OVER_PI: [u32; 50] = [
    0xa2f983, 0x6e4e44, 0x1529fc, 0x2757d1, 0xf534dd, 0xc0db62, 0x95993c, 0x439041, 0xfe5163, 0xabdebb, 0xc561b7, 0x246e3a, 0x424dd2,
    0xe00649, 0x2eea09, 0xd1921c, 0xfe1deb, 0x1cb129, 0xa73ee8, 0x8235f5, 0x2ebb44, 0x84e99c, 0x7026b4, 0x5f7e41, 0x3991d6, 0x398353,
    0x39f49c, 0x845f8b, 0xbdf928, 0x3b1ff8, 0x97ffde, 0x05980f, 0xef2f11, 0x8b5a0a, 0x6d1f6d, 0x367ecf, 0x27cb09, 0xb74f46, 0x3f669e,
    0x5fea2d, 0x7527ba, 0xc7ebe5, 0xf17b3d, 0x0739f7, 0x8a5292, 0xea6bfb, 0x5fb11f, 0x8d5d08, 0x560330, 0x46fc7b,
];
/// Words that an angle of binary32 needs: what they leave out is below 2⁻⁶⁴ quarter turns of it.
const SHORT_WORDS: usize = 8;

/// What `far` computes for the lanes of magnitudes beyond a bound, and `near` elsewhere. Lanes beyond it are rare, so that no vector without one waits
/// for them.
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

/// Whether some lane of magnitudes is beyond a bound; NaN may be. Numbers that are not negative are in the order of their bits.
fn some_beyond(b: &mut KernelBuilder, magnitude: Value, bound: f64) -> Value {
    let lane = integer_lane(b, magnitude);
    let bits = b.convert(ConvertOp::Bitcast, magnitude, lane);
    let largest = if b.ty(bits).lanes > 1 { b.horizontal(HorizontalOp::Max, bits) } else { bits };
    let bound = if lane.bytes() == 8 { bound.to_bits() as i64 } else { i64::from((bound as f32).to_bits()) };
    let bound = b.int(b.ty(largest), bound);
    b.compare(CompareOp::Greater, largest, bound)
}

/// The quarter turn nearest to an angle of the 24 bits of a binary32, plus [`ROUNDER`], and what the angle has beyond it, with a relative error of 2⁻³⁰.
/// Sums are exact until a part lies below their last bit, and no angle of 24 bits is nearer to a quarter turn than 2⁻³⁰.
pub fn short_remainder(b: &mut KernelBuilder, angle: Value) -> (Value, Value) {
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
    (rounded, mul_constant(b, rest, consts::FRAC_PI_2))
}

/// What quarter turns above −2⁵⁴ have beyond whole turns, in −2..=2, exact; NaN for infinity.
pub fn beyond_turns(b: &mut KernelBuilder, quarters: Value) -> Value {
    let rounded = add_constant(b, quarters, TURN_ROUNDER);
    let turns = add_constant(b, rounded, -TURN_ROUNDER);
    let rest = b.sub(quarters, turns);
    let whole = constant(b, quarters, WHOLE);
    let is_whole = b.compare(CompareOp::GreaterEqual, quarters, whole);
    let nothing = b.sub(quarters, quarters);
    b.select(is_whole, nothing, rest)
}
