//! Parameters in binary32: a product with a scale and one sum, rounded once or towards zero.

use super::numbers::MOST_EXACT;
use super::sequence::Precision;
use super::stairs::{Channel, Stairs, Threshold};
use crate::kernel::interpret::fma_toward_zero;

/// Number of binary32 neighbours of a scale that are tried.
const NEIGHBOURS: i64 = 128;

/// Scale, its remainder in a second number, and c.
#[derive(Clone, Copy)]
struct Line {
    scale: f32,
    rest: f32,
    c: f32,
}

impl Line {
    /// Computes `trunc(sum · scale + c)` as the machine does, for sums that are not negative.
    fn result(&self, sum: i64, precision: Precision) -> i64 {
        let sum = sum as f32;
        match precision {
            Precision::Nearest => sum.mul_add(self.scale, self.c) as i64,
            Precision::TowardZero => fma_toward_zero(sum, self.scale, self.c) as i64,
            Precision::TowardZeroTwice => fma_toward_zero(sum, self.scale, fma_toward_zero(sum, self.rest, self.c)) as i64,
        }
    }

    /// Tests whether the result of a threshold begins exactly at its sum.
    fn meets(&self, threshold: Threshold, precision: Precision) -> bool {
        let (result, sum) = threshold.magnitude();
        self.result(sum, precision) >= result && self.stays_below(threshold, precision)
    }

    /// Tests whether the sum before a threshold stays below its result.
    fn stays_below(&self, threshold: Threshold, precision: Precision) -> bool {
        let (result, sum) = threshold.magnitude();
        self.result(sum - 1, precision) < result
    }

    fn numbers(&self, precision: Precision) -> Vec<i32> {
        let rest = (precision == Precision::TowardZeroTwice).then_some(self.rest);
        [self.scale].into_iter().chain(rest).chain([self.c]).map(|number| number.to_bits() as i32).collect()
    }
}

/// Finds the parameters of a channel in binary32. From a threshold on, the magnitude `sum · slope + c` must truncate to at least the result, which
/// bounds c from below. The sum before must not reach it, which bounds c from above. All these numbers are exact in binary64. `least` has
/// [`Precision::least`] of each result with a threshold.
pub fn float_channel(stairs: &Stairs, least: &[f64], precision: Precision) -> Option<Channel> {
    let Stairs { scale, magnitudes, beyond, .. } = stairs;
    if let Some(result) = stairs.constant() {
        // c gets the sign of the sums, which is the result's sign.
        let line = Line { scale: 0.0, rest: 0.0, c: result.abs() as f32 + 0.5 };
        return Some(Channel { numbers: line.numbers(precision), offset: 0 });
    }
    let (least_magnitude, most_magnitude) = stairs.range_of_magnitudes();
    if least_magnitude <= 0.0 {
        return None;
    }
    // The bounds are not exact if sums or a product are rounded once more. All thresholds are then tested.
    let last = |beyond: &Threshold| (beyond.magnitude().1 - 1) as f64;
    let is_rounded = |sum: f64| sum > MOST_EXACT as f64;
    let rounds_inside =
        precision == Precision::TowardZeroTwice || is_rounded(most_magnitude) || beyond.iter().any(|beyond| is_rounded(last(beyond)));
    let exact = scale.multiplier as f64 / (1u64 << (31 + scale.shift)) as f64;
    let nearest = (exact as f32).to_bits() as i64;
    // A scale in two numbers is as near as possible, so it has no neighbours to try.
    let neighbours = if precision == Precision::TowardZeroTwice { 1 } else { NEIGHBOURS };
    (0..neighbours).find_map(|number| {
        let scale = f32::from_bits((nearest + neighbour(number)).max(0) as u32);
        let rest = if precision == Precision::TowardZeroTwice { (exact - f64::from(scale)) as f32 } else { 0.0 };
        let slope = f64::from(scale) + f64::from(rest);
        let (low, high) = bounds(magnitudes, least, slope);
        let room = |beyond: &Threshold| precision.least(beyond.result) - last(beyond) * slope;
        let high = beyond.iter().map(room).fold(high, f64::min);
        let line = Line { scale, rest, c: ((low + high) / 2.0) as f32 };
        let c = f64::from(line.c);
        let inside = low <= c && c < high && c > 0.0;
        let meets_all = || {
            stairs.thresholds().all(|threshold| line.meets(threshold, precision))
                && beyond.iter().all(|&beyond| line.stays_below(beyond, precision))
        };
        let good = inside && (!rounds_inside || meets_all());
        good.then(|| Channel { numbers: line.numbers(precision), offset: 0 })
    })
}

impl Precision {
    /// Returns the least magnitude of the exact `sum · slope + c` that gives a result.
    pub fn least(self, result: i64) -> f64 {
        let magnitude = if result > 0 { result } else { 1 - result };
        match self {
            // Rounding reaches the result from the middle between it and the binary32 number before. The tie counts, since the result's last bit is
            // zero.
            Self::Nearest => magnitude as f64 - 0.5 * unit_below(magnitude),
            // Rounding towards zero before truncation changes nothing.
            Self::TowardZero | Self::TowardZeroTwice => magnitude as f64,
        }
    }
}

/// Returns the bounds of c: the first is included, the second is not.
fn bounds(magnitudes: &[f64], least: &[f64], slope: f64) -> (f64, f64) {
    /// Number of comparisons at once, so that the host can use vector instructions.
    const LANES: usize = 4;
    let (mut most_missing, mut least_missing) = ([0.0; LANES], [f64::INFINITY; LANES]);
    let mut compare = |lane: usize, sum: f64, least: f64| {
        let missing = least - sum * slope;
        most_missing[lane] = if missing > most_missing[lane] { missing } else { most_missing[lane] };
        least_missing[lane] = if missing < least_missing[lane] { missing } else { least_missing[lane] };
    };
    let ((sums, last_sums), (leasts, last_leasts)) = (magnitudes.as_chunks::<LANES>(), least.as_chunks::<LANES>());
    for (sums, leasts) in sums.iter().zip(leasts) {
        (0..LANES).for_each(|lane| compare(lane, sums[lane], leasts[lane]));
    }
    last_sums.iter().zip(last_leasts).for_each(|(&sum, &least)| compare(0, sum, least));
    // The window of each threshold has the width of the slope.
    let high = least_missing.into_iter().fold(f64::INFINITY, f64::min) + slope;
    (most_missing.into_iter().fold(0.0, f64::max), high.min(1.0))
}

/// Returns the distance from a positive integer down to the next number of binary32.
fn unit_below(integer: i64) -> f64 {
    let exponent = (integer as u64 - 1).checked_ilog2().map_or(-1, i64::from);
    f64::from_bits(((1023 + exponent - 23) as u64) << 52)
}

/// Returns the numbers 0, 1, −1, 2, −2, … by their place in this list.
pub fn neighbour(number: i64) -> i64 {
    if number % 2 == 1 { number / 2 + 1 } else { -(number / 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_below_an_integer_is_that_of_binary32() {
        for integer in 1..=1 << 10 {
            let number = integer as f32;
            assert_eq!(unit_below(integer), f64::from(number) - f64::from(number.next_down()), "{integer}");
        }
    }
}
