//! Parameters of one product of signed integers: its low or high half, then a sum and a shift by the same count for all channels.
//!
//! M is the multiplier, and U the unit of a result: 2^(32 + shift) or 2^shift. Let `D = offset · M + c`. A threshold T of a result r is met if D is
//! at least `r · U − M · T` and less than M above it. For a high half, c is a multiple of 2³², and an offset of the sums places D. The window that
//! meets all thresholds is a concave function of M, so its slope leads to the widest window.
//!
//! Double rounding takes ties away from zero before and after a division. This separates the thresholds of positive and other results by more than a
//! line allows. If both kinds of results are distinguished, there is no window.

use super::numbers::ROOM_ADDED;
use super::rounded::{first_multiple_within, rounded_shift};
use super::stairs::{Channel, Stairs, Threshold, Unshifted};
use crate::ir::Interval;

/// Numbers that all channels of a layer share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// Dropped bits of the product: 32 or none.
    pub places: u32,
    /// Count of the shift after the sum.
    pub shift: u32,
}

/// Maximum multiplier.
const MOST_MULTIPLIER: i64 = i32::MAX as i64;
/// Bound of a sum before the shift, so that constants can add up to [`ROOM_ADDED`] results to it.
const MOST_SHIFTED: i64 = 1 << 30;
/// Maximum shift of a high half. Results up to 2¹⁰ then stay below [`MOST_SHIFTED`].
const MOST_SHIFT: u32 = 19;

impl Form {
    /// Returns the forms to try for a layer, the cheapest first.
    pub fn of(stairs: &[Stairs], unshifted: Option<Unshifted>) -> Vec<Self> {
        let scaled = || stairs.iter().filter(|stairs| stairs.constant().is_none());
        let Some(least) = scaled().map(|stairs| stairs.scale.shift).min() else {
            return vec![Self { places: 0, shift: 0 }];
        };
        let most = scaled().map(Stairs::most_result).max().unwrap_or(0) + ROOM_ADDED;
        let low = 30u32.checked_sub((most as u64).next_power_of_two().ilog2()).map(|shift| Self { places: 0, shift });
        // Multipliers are as large as possible, or half of that.
        let shifts = [1, 2].into_iter().filter_map(|less| least.checked_sub(less)).map(|shift| shift.min(MOST_SHIFT));
        let high = |shift| Self { places: 32, shift };
        let [first, second] = [Unshifted::First, Unshifted::AfterLow].map(|place| (unshifted == Some(place)).then(|| high(0)));
        first.into_iter().chain(low).chain(second).chain(shifts.map(high)).collect()
    }

    /// Finds the parameters of a channel.
    pub fn channel(self, stairs: &Stairs) -> Option<Channel> {
        if let Some(result) = stairs.constant() {
            return Some(Line { form: self, multiplier: 0, offset: 0, c: result << self.shift }.channel());
        }
        let nearest = self.nearest(stairs)?;
        self.line(stairs, nearest).or_else(|| self.widest(stairs, nearest)).map(|line| line.channel())
    }

    /// Returns the multiplier that is nearest to a channel's scale. `None` if it is out of range.
    fn nearest(self, stairs: &Stairs) -> Option<i64> {
        let less = (31 + stairs.scale.shift).checked_sub(self.places + self.shift)?;
        let nearest = rounded_shift(stairs.scale.multiplier, less);
        (1..=MOST_MULTIPLIER).contains(&nearest).then_some(nearest)
    }

    /// Searches the multipliers around `nearest` for the widest window. Returns the first one on the way that meets all thresholds.
    fn widest(self, stairs: &Stairs, nearest: i64) -> Option<Line> {
        let around = (nearest >> 7).max(1);
        let (mut low, mut high) = ((nearest - around).max(1), (nearest + around).min(MOST_MULTIPLIER));
        while low < high {
            let middle = (low + high) / 2;
            if let Some(line) = self.line(stairs, middle) {
                return Some(line);
            }
            if self.window(stairs, middle).widens { low = middle + 1 } else { high = middle }
        }
        self.line(stairs, low)
    }

    /// Returns the parameters with a multiplier, if they meet all thresholds.
    fn line(self, stairs: &Stairs, multiplier: i64) -> Option<Line> {
        let Window { low, high, .. } = self.window(stairs, multiplier);
        if low > high {
            return None;
        }
        let (offset, c) = if self.places == 0 {
            (0, low + (high - low) / 2)
        } else {
            let offset = first_multiple_within(multiplier as u64, 1 << 32, low, high)?;
            // The multiple of 2³² that moves this product into the window.
            let product = offset.checked_mul(multiplier)?;
            (offset, low.checked_sub(product)?.div_euclid(1 << 32) + i64::from((low - product).rem_euclid(1 << 32) > 0))
        };
        let line = Line { form: self, multiplier, offset, c };
        line.holds(stairs).then_some(line)
    }

    /// Returns the bounds of D for a multiplier.
    fn window(self, stairs: &Stairs, multiplier: i64) -> Window {
        let unit = 1i64 << (self.places + self.shift);
        let (mut least, mut most) = ((i64::MIN, 0), (i64::MAX, 0));
        let mut reached = |Threshold { result, sum }| {
            least = least.max((result * unit - sum * multiplier, sum));
        };
        let mut not_before = |Threshold { result, sum }| {
            let sum = sum - 1;
            most = most.min((result * unit - sum * multiplier - 1, sum));
        };
        for threshold in stairs.thresholds() {
            reached(threshold);
            not_before(threshold);
        }
        for &beyond in &stairs.beyond {
            if beyond.sum > stairs.scale.sums.high { not_before(beyond) } else { reached(beyond) }
        }
        Window { low: least.0, high: most.0, widens: least.1 > most.1 }
    }
}

/// Interval of the numbers D that meet all thresholds. It is empty if `low > high`.
struct Window {
    low: i64,
    high: i64,
    /// `true` if a larger multiplier widens the interval.
    widens: bool,
}

/// The parameters of a channel.
struct Line {
    form: Form,
    multiplier: i64,
    offset: i64,
    c: i64,
}

impl Line {
    /// Returns the half of the product that the form takes.
    fn product(&self, sum: i64) -> i64 {
        ((sum + self.offset) * self.multiplier) >> self.form.places
    }

    /// Returns the sum before the shift.
    fn sum(&self, sum: i64) -> i64 {
        self.product(sum) + self.c
    }

    /// Tests whether all thresholds are met and all intermediate numbers fit 32 bits.
    fn holds(&self, stairs: &Stairs) -> bool {
        let Interval { low: first, high: last } = stairs.scale.sums;
        let is_word = |number: i64| i32::try_from(number).is_ok();
        let fits = |sum: i64| is_word(sum + self.offset) && is_word(self.product(sum)) && self.sum(sum).abs() < MOST_SHIFTED;
        if !is_word(self.offset) || !is_word(self.c) {
            return false;
        }
        let reaches = |sum: i64, result: i64| self.sum(sum) >> self.form.shift >= result;
        let met = |t: Threshold| reaches(t.sum, t.result) && !reaches(t.sum - 1, t.result);
        let stays = |t: &Threshold| if t.sum > last { !reaches(t.sum - 1, t.result) } else { reaches(t.sum, t.result) };
        fits(first) && fits(last) && stairs.thresholds().all(met) && stairs.beyond.iter().all(stays)
    }

    fn channel(&self) -> Channel {
        Channel { numbers: vec![self.multiplier as i32, self.c as i32], offset: self.offset as i32 }
    }
}
