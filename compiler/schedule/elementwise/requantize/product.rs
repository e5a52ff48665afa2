//! Parameters of one unsigned high product.

use super::float::neighbour;
use super::stairs::{Channel, Stairs, Threshold};

/// Maximum shift. All numbers of the search then fit 64 bits.
const MOST_PRODUCT_SHIFT: u32 = 16;
/// Number of neighbours of a multiplier that are tried. Random multipliers need at most 25.
const NEIGHBOURS: i64 = 128;
/// Number of offsets that are tried for a multiplier. About one of 500 fits.
const OFFSETS: i64 = 1 << 12;

/// The parameters of a high product.
#[derive(Clone, Copy)]
struct Product {
    offset: i64,
    multiplier: i64,
    pivot: i64,
    shift: u32,
    constant: i64,
}

impl Product {
    fn result(&self, sum: i64) -> i64 {
        // The machine subtracts modulo 2³²: 0 − 1 wraps.
        let high = (((sum + self.offset) as u64 * self.multiplier as u64) >> 32) as u32;
        let high = high.wrapping_sub(u32::from(i64::from(high) < self.pivot));
        i64::from(high >> self.shift) + self.constant
    }

    fn channel(&self, signed: bool) -> Channel {
        let mut numbers = vec![self.multiplier as u32 as i32, self.pivot as i32, self.shift as i32, self.constant as i32];
        if !signed {
            numbers.remove(1);
        }
        Channel { numbers, offset: self.offset as i32 }
    }
}

/// Finds the parameters of a channel for an unsigned high product. With M the multiplier and D = offset · M − constant · 2^(32 + shift), a threshold
/// is met if D is in a window as wide as M. The windows of all thresholds have a small intersection. Each constant allows one offset near it, and the
/// search tries constants until D is inside.
pub fn product_channel(stairs: &Stairs, signed: bool) -> Option<Channel> {
    let (scale, thresholds) = (&stairs.scale, || stairs.thresholds());
    if let Some(constant) = stairs.constant() {
        return Some(Product { offset: 0, multiplier: 0, pivot: 0, shift: 0, constant }.channel(signed));
    }
    let shift = scale.shift;
    if shift > MOST_PRODUCT_SHIFT {
        return None;
    }
    // Sums with their offset stay below 2³¹, so that signed comparisons order them.
    let (first, last) = (-scale.sums.low, (1 << 31) - 1 - scale.sums.high);
    let modulus = 1i64 << (32 + shift);
    let step = 1 << 10u32.saturating_sub(shift);
    (0..NEIGHBOURS).find_map(|number| {
        let multiplier = 2 * scale.multiplier + neighbour(number) * step;
        if !(1..1 << 32).contains(&multiplier) {
            return None;
        }
        let window = |t: Threshold| {
            let tie = signed && t.result <= 0 && shift > 0;
            t.result * modulus - t.sum * multiplier + if tie { 1 << 32 } else { 0 }
        };
        let least = thresholds().map(window).max()?;
        let most = thresholds().map(window).min()? + multiplier - 1;
        if least > most {
            return None;
        }
        // The search begins with the constant of the first offset that makes all sums positive.
        let start = ((first * multiplier - least).div_euclid(modulus) + 1).max(0);
        let mut rest = (i128::from(least) + i128::from(modulus) * i128::from(start)).rem_euclid(multiplier.into()) as i64;
        (start..start + OFFSETS).find_map(|constant| {
            let missing = if rest == 0 { 0 } else { multiplier - rest };
            rest = (rest + modulus % multiplier) % multiplier;
            if missing > most - least {
                return None;
            }
            let offset = (i128::from(least) + i128::from(modulus) * i128::from(constant) + i128::from(missing)) / i128::from(multiplier);
            let offset = offset as i64;
            let pivot = if signed && shift > 0 { (constant << shift) + (1 << (shift - 1)) } else { 0 };
            let product = Product { offset, multiplier, pivot, shift, constant: -constant };
            let holds = |t: Threshold| product.result(t.sum) >= t.result && product.result(t.sum - 1) < t.result;
            let stays_below = |beyond: &Threshold| match beyond.result > 0 {
                true => product.result(beyond.sum - 1) < beyond.result,
                false => product.result(beyond.sum) >= beyond.result,
            };
            let good = (first..=last).contains(&offset) && thresholds().all(holds) && stairs.beyond.iter().all(stays_below);
            good.then(|| product.channel(signed))
        })
    })
}
