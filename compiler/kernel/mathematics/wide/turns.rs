//! Reduction of binary64 angles of many turns.

use super::super::turns::{TWO_OVER_PI, WORD_BITS, beyond_turns};
use super::super::{ROUNDER, add_constant, constant, mul_constant};
use super::pair::{Pair, product, sum};
use crate::{CompareOp, KernelBuilder, Value};
use std::f64::consts;

/// Bits of a part of 2/π, which is two words.
const PART_BITS: i32 = 2 * WORD_BITS;
/// Parts that an angle needs. Earlier parts give whole turns, and later parts give less than 2⁻¹³⁶ quarter turns.
const PARTS: usize = 5;
/// Exponent in the limits of the search. An angle of at least two to `FIRST` + n · [`PART_BITS`] moves by n parts, so that every angle ends below
/// 2⁵⁴.
const FIRST: i32 = 6;
/// π/2 as the sum of three numbers.
pub const HALF_PI: [f64; 3] = [consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_183_3e-33];

/// Returns the quarter turn nearest to an angle beyond 2⁴⁵, plus [`ROUNDER`], and the remainder with a relative error of 2⁻⁶⁶. No angle is nearer to
/// a quarter turn than 2⁻⁶². Sums are exact for parts above 2⁻²⁷. After these, each sum has a relative error of 2⁻¹⁰⁶.
pub fn long_remainder(b: &mut KernelBuilder, angle: Value) -> (Value, Pair) {
    let (angle, parts) = aligned(b, angle);
    let mut rounded = constant(b, angle, ROUNDER);
    let zero = constant(b, angle, 0.0);
    let mut rest = Pair { high: zero, low: zero };
    for part in parts {
        let product = product(b, angle, part);
        for quarters in [product.high, product.low] {
            let quarters = beyond_turns(b, quarters);
            let next = sum(b, rest.high, quarters);
            let n = add_constant(b, next.high, ROUNDER);
            let n = add_constant(b, n, -ROUNDER);
            rounded = b.add(rounded, n);
            let (high, low) = (b.sub(next.high, n), b.add(rest.low, next.low));
            rest = sum(b, high, low);
        }
    }
    (rounded, quarter_turns(b, rest))
}

/// Moves an angle below 2⁵⁴ by whole parts, and moves the parts of 2/π by the same distance in the other direction. A binary search selects the
/// parts: each step keeps the first ones or skips to later ones.
fn aligned(b: &mut KernelBuilder, angle: Value) -> (Value, Vec<Value>) {
    let mut angle = angle;
    let whole = [0.0]
        .into_iter()
        .chain(TWO_OVER_PI.chunks_exact(2).map(|words| f64::from(words[0]) * f64::powi(2.0, WORD_BITS) + f64::from(words[1])));
    let mut parts: Vec<Value> = whole.map(|part| constant(b, angle, part)).collect();
    let zero = parts[0];
    for step in [16, 8, 4, 2, 1] {
        let bits = PART_BITS * step as i32;
        let bound = constant(b, angle, f64::powi(2.0, FIRST + bits));
        let is_beyond = b.compare(CompareOp::GreaterEqual, angle, bound);
        let moved = mul_constant(b, angle, f64::powi(2.0, -bits));
        angle = b.select(is_beyond, moved, angle);
        let later = |parts: &[Value], i: usize| parts.get(i + step).copied().unwrap_or(zero);
        parts = (0..PARTS + step - 1).map(|i| b.select(is_beyond, later(&parts, i), parts[i])).collect();
    }
    let parts = parts.into_iter().zip(0..).map(|(part, i)| mul_constant(b, part, f64::powi(2.0, -PART_BITS * i))).collect();
    (angle, parts)
}

/// Converts quarter turns to an angle.
fn quarter_turns(b: &mut KernelBuilder, quarters: Pair) -> Pair {
    let half_pi = constant(b, quarters.high, HALF_PI[0]);
    let angle = product(b, quarters.high, half_pi);
    let crossed = mul_constant(b, quarters.low, HALF_PI[0]);
    let low = mul_constant(b, quarters.high, HALF_PI[1]);
    let low = b.add(low, crossed);
    let low = b.add(angle.low, low);
    sum(b, angle.high, low)
}
