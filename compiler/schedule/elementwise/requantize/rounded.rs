//! Parameters of `sum · scale + c` in binary32 with a last place of one, so that the sum itself rounds to nearest.
//!
//! c is [`ONES`] plus an integer. Between 2²³ and 2²⁴, binary32 has only integers. A sum begins with an offset, which moves the product by the wanted
//! fraction. Multiples of the scale come as near to any fraction as needed. So `(sum + offset) · scale + c` is exact before it is rounded. All
//! computations here are in integers: the scale is `multiplier` · 2^−`places`.

use super::float::neighbour;
use super::numbers::{MOST_EXACT, ONES, ROOM};
use super::stairs::{Channel, Stairs};
use crate::ir::Interval;

/// Number of neighbours of a scale that are tried.
const NEIGHBOURS: i64 = 32;

/// Maximum number of fractional bits. Thresholds of results below 2¹⁰ then fit 64 bits with their sums.
const MOST_PLACES: u32 = 42;

/// Finds the parameters of a channel whose results are the low 16 bits of `sum · scale + c`. `None` if none are found.
///
/// With d = offset · scale + c, a threshold is met if d is inside a window as wide as the scale. Its ends are ties and do not count. The windows of
/// all thresholds have a smaller intersection.
pub fn rounded_channel(stairs: &Stairs) -> Option<Channel> {
    if let Some(result) = stairs.constant() {
        let line = Line { multiplier: 0, places: 0, offset: 0, added: result };
        return Some(line.channel());
    }
    let scale = stairs.scale;
    // The multiplier is between 2²³ and 2²⁴, so that binary32 has it, or smaller.
    let places = (24 + scale.shift + u32::from(scale.multiplier < 1 << 30)).min(MOST_PLACES);
    let nearest = rounded_shift(scale.multiplier, 31 + scale.shift - places);
    (0..NEIGHBOURS).find_map(|number| {
        let multiplier = nearest + neighbour(number);
        if !(1..=MOST_EXACT).contains(&multiplier) {
            return None;
        }
        let (low, high) = window(stairs, multiplier, places);
        let offset = first_multiple_within(multiplier as u64, 1 << places, low, high)?;
        // The integer is the distance from the multiple to the window.
        let missing = i128::from(low) - i128::from(offset) * i128::from(multiplier);
        let added = (missing + (1 << places) - 1) >> places;
        let line = Line { multiplier, places, offset, added: added as i64 };
        line.fits(scale.sums).then(|| line.channel())
    })
}

/// Divides a number by 2^shift, rounded to nearest.
pub fn rounded_shift(number: i64, shift: u32) -> i64 {
    if shift == 0 { number } else { (number + (1 << (shift - 1))) >> shift }
}

/// Returns the first and the last d that meet every threshold, in units of 2^−places.
fn window(stairs: &Stairs, multiplier: i64, places: u32) -> (i64, i64) {
    let half = 1i64 << (places - 1);
    let missing = |result: i64, sum: i64| (2 * result - 1) * half - sum * multiplier;
    let (mut least, mut most) = (i64::MAX, i64::MIN);
    for threshold in stairs.thresholds() {
        let missing = missing(threshold.result, threshold.sum);
        (least, most) = (least.min(missing), most.max(missing));
    }
    for beyond in &stairs.beyond {
        let missing = missing(beyond.result, beyond.sum);
        // The last sum must stay below the upper bound, and the first sum must reach the lower one.
        if beyond.sum > stairs.scale.sums.high { least = least.min(missing) } else { most = most.max(missing) }
    }
    (most.saturating_add(1), least.saturating_add(multiplier - 1))
}

/// Returns the least number whose product with `step` is congruent, modulo `modulus`, to a number from `low` to `high`. `None` if there is none.
pub fn first_multiple_within(step: u64, modulus: u64, low: i64, high: i64) -> Option<i64> {
    if low > high {
        return None;
    }
    let first = i128::from(low).rem_euclid(modulus.into()) as u64;
    let width = high.checked_sub(low)? as u64;
    let found = if first == 0 || first + width >= modulus { Some(0) } else { first_within(step, modulus, first, first + width) };
    i64::try_from(found?).ok()
}

/// Returns the least x with `low <= step · x mod modulus <= high`, for `0 < low <= high < modulus`, by Euclid's algorithm on the step and the
/// modulus.
fn first_within(step: u64, modulus: u64, low: u64, high: u64) -> Option<u64> {
    let step = step % modulus;
    if step == 0 {
        return None;
    }
    if 2 * step > modulus {
        return first_within(modulus - step, modulus, modulus - high, modulus - low);
    }
    let reached = low.div_ceil(step);
    if reached * step <= high {
        return Some(reached);
    }
    // No multiple of the step is inside, so the search goes on with the modulus by the step.
    let turns = first_within(modulus % step, step, step - high % step, step - low % step)?;
    let product = u128::from(low) + u128::from(modulus) * u128::from(turns);
    u64::try_from(product.div_ceil(step.into())).ok()
}

/// The parameters of a channel.
struct Line {
    multiplier: i64,
    places: u32,
    offset: i64,
    added: i64,
}

impl Line {
    /// Tests whether sums are exact, and results have 16 bits with room for later additions.
    fn fits(&self, sums: Interval) -> bool {
        let result = |sum: i64| i128::from(sum + self.offset) * i128::from(self.multiplier) / (1 << self.places) + i128::from(self.added);
        let most = i128::from((1 << 15) - ROOM);
        let exact = |sum: i64| (sum + self.offset).abs() <= MOST_EXACT;
        self.offset <= MOST_EXACT
            && self.added.abs() <= 1 << 21
            && [sums.low, sums.high].into_iter().all(|sum| exact(sum) && (-most..most).contains(&result(sum)))
    }

    fn channel(&self) -> Channel {
        let scale = (self.multiplier as f64 / (1u64 << self.places) as f64) as f32;
        let c = ONES + self.added as f32;
        Channel { numbers: [scale, c].map(|number| number.to_bits() as i32).to_vec(), offset: self.offset as i32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_multiple_within_is_that_of_a_search() {
        for modulus in [16u64, 30, 64, 97] {
            for step in 1..modulus {
                for (low, width) in (-20..40).flat_map(|low| [0, 1, 5].map(|width| (low, width))) {
                    let within = |x: &i64| (low..=low + width).any(|number| (x * step as i64 - number).rem_euclid(modulus as i64) == 0);
                    let wanted = (0..modulus as i64).find(within);
                    assert_eq!(
                        first_multiple_within(step, modulus, low, low + width),
                        wanted,
                        "{step} mod {modulus}, {low} to {}",
                        low + width
                    );
                }
            }
        }
    }
}
