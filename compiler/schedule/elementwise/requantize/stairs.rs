//! Thresholds of a channel: the least sum that gives each result of the rule.

use super::numbers::ROOM;
use crate::ir::scalar::integer::requantize;
use crate::ir::{Interval, RequantizeRule};

/// Bound of sums' magnitudes. Numbers of the search below it fit 64 bits.
const MOST_SUM: i64 = 1 << 30;

/// Maximum number that can be added to a scaled sum without a wrap: a scaled sum is at most [`MOST_SUM`].
pub const MOST_ADDED: i64 = i32::MAX as i64 - MOST_SUM;

/// One channel. Its sums are in an interval and are multiplied by multiplier × 2^(−31 − shift).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Scale {
    /// 0, or from 2²⁹ to 2³¹ − 1.
    pub multiplier: i64,
    /// Number of divisions by two.
    pub shift: u32,
    /// Interval of the sums.
    pub sums: Interval,
    /// Factors of the rules of binary32 and binary64.
    pub floats: Floats,
}

/// Bits of binary32 numbers: a factor, an addend and an outer factor. For binary64: the high and the low half of its factor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Floats {
    factor: u32,
    added: u32,
    outer: u32,
}

impl Floats {
    fn of_double(factor: f64) -> Self {
        let bits = factor.to_bits();
        Self { factor: (bits >> 32) as u32, added: bits as u32, outer: 0 }
    }

    fn double(self) -> f64 {
        f64::from_bits(u64::from(self.factor) << 32 | u64::from(self.added))
    }

    fn scaled(self, sum: i32) -> f32 {
        let [factor, added, outer] = [self.factor, self.added, self.outer].map(f32::from_bits);
        (sum as f32 * factor + added) * outer
    }

    /// Returns the sum that scales to a number, without rounding.
    fn sum_of(self, scaled: f64) -> f64 {
        let [factor, added, outer] = [self.factor, self.added, self.outer].map(|bits| f64::from(f32::from_bits(bits)));
        (scaled / outer - added) / factor
    }
}

/// A reference's way to scale a sum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// Fixed point, with the multiplier and the shift.
    FixedPoint(RequantizeRule),
    /// Product with [`Scale::floats`] as one factor of binary64. It is rounded to nearest, then to an integer, halves away from zero.
    Binary64,
    /// Operations with [`Scale::floats`] in binary32, each rounded. The result is rounded to an integer, ties to even.
    Binary32,
}

impl Rule {
    /// Scales a sum.
    fn scaled(self, sum: i32, scale: Scale) -> i64 {
        let Scale { multiplier, shift, .. } = scale;
        match self {
            Self::FixedPoint(rule) => requantize(rule, sum, multiplier as i32, -(shift as i32)).into(),
            Self::Binary32 => libm::rintf(scale.floats.scaled(sum)) as i64,
            Self::Binary64 => libm::round(f64::from(sum) * scale.floats.double()) as i64,
        }
    }
}

/// Place of a high half without a shift among the forms. It needs a high half of a product in one instruction, and sums that begin with an offset.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unshifted {
    /// Before the low half.
    First,
    /// After the low half, whose shift is a part of the saturation.
    AfterLow,
}

/// Properties that all channels share.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Problem {
    /// Rounding of the reference.
    pub rule: Rule,
    /// Interval of the results that the clamp after the rule distinguishes. Results outside count as its ends.
    pub results: Interval,
    /// `true` if the kernel may round towards zero.
    pub toward_zero: bool,
    /// `true` if results are narrowed to bytes at once, with saturation.
    pub narrows: bool,
    /// `true` if the machine scales only by products of integers.
    pub integers: bool,
    /// Place of results without a shift among the products of integers.
    pub unshifted: Option<Unshifted>,
    /// `true` if the steps of a rule with two roundings take one instruction each.
    pub steps: bool,
}

/// Results of a rule for the sums of a channel.
pub struct Stairs {
    /// The channel. Its sums are extended to 0, so that they have the sign of their results, unless all sums have one result.
    pub scale: Scale,
    /// Result of the first threshold.
    pub first: i64,
    /// Thresholds that sums reach, one for each result from `first` on.
    pub sums: Vec<i64>,
    /// Magnitudes of the thresholds: see [`Threshold::magnitude`].
    pub magnitudes: Vec<f64>,
    /// Bounds at both ends of the sums, unless the clamp hides them. The first sum must reach the least result. The last sum must stay below the
    /// result after the greatest.
    pub beyond: Vec<Threshold>,
}

/// A result and the least sum that reaches it.
#[derive(Clone, Copy)]
pub struct Threshold {
    /// The result.
    pub result: i64,
    /// The sum.
    pub sum: i64,
}

impl Threshold {
    /// Returns a magnitude of results and the least magnitude of sums that has it. For negative results, this is the mirror image of the sum before
    /// the threshold.
    pub fn magnitude(self) -> (i64, i64) {
        if self.result > 0 { (self.result, self.sum) } else { (1 - self.result, 1 - self.sum) }
    }
}

/// Parameters of a channel.
pub struct Channel {
    /// One number for each table.
    pub numbers: Vec<i32>,
    /// Number that is added to the channel's sums before the sequence.
    pub offset: i32,
}

impl Scale {
    /// Makes the scale of sums that are multiplied by a factor of binary64. `None` unless the factor is positive and below one.
    pub fn of_double(factor: f64, sums: Interval) -> Option<Self> {
        Some(Self { floats: Floats::of_double(factor), ..Self::below(factor, sums)? })
    }

    /// Returns the greatest scale that is not above a positive factor below one.
    fn below(factor: f64, sums: Interval) -> Option<Self> {
        let (fraction, exponent) = libm::frexp(factor);
        let shift = u32::try_from(-exponent).ok()?;
        (fraction > 0.0).then(|| Self { multiplier: libm::ldexp(fraction, 31) as i64, shift, sums, floats: Floats::default() })
    }

    /// Makes the scale of `(sum · factor + added) · outer` in binary32. `None` unless both factors are positive and their product is below one.
    pub fn of_floats([factor, added, outer]: [f32; 3], sums: Interval) -> Option<Self> {
        let product = f64::from(factor) * f64::from(outer);
        let floats = Floats { factor: factor.to_bits(), added: added.to_bits(), outer: outer.to_bits() };
        let scale = Self::below(product, sums).filter(|_| factor > 0.0 && added.is_finite())?;
        Some(Self { floats, ..scale })
    }

    /// Tests whether scaled sums fit 16 bits, with room for later additions.
    pub fn fits_low_half(&self) -> bool {
        let most = ((1 << 15) - ROOM) as f64;
        [self.sums.low, self.sums.high].into_iter().all(|sum| (sum as f64 * self.factor()).abs() < most)
    }

    /// Returns the factor of sums.
    fn factor(&self) -> f64 {
        self.multiplier as f64 / (1u64 << (31 + self.shift)) as f64
    }
}

impl Stairs {
    /// Computes the thresholds of a channel. `None` if numbers are too large.
    pub fn new(problem: &Problem, mut scale: Scale) -> Option<Self> {
        let Interval { low, high } = problem.results;
        let scaled = |sum: i64| {
            let scaled = problem.rule.scaled(i32::try_from(sum).ok()?, scale);
            Some(scaled).filter(|scaled| scaled.abs() <= MOST_SUM)
        };
        let result = |sum: i64| Some(scaled(sum)?.clamp(low, high));
        let least = result(scale.sums.low)?;
        if least == result(scale.sums.high)? {
            return Some(Self { scale, first: least + 1, sums: vec![], magnitudes: vec![], beyond: vec![] });
        }
        let sums = Interval::new(scale.sums.low.min(0), scale.sums.high.max(0));
        let (least, most) = (result(sums.low)?, result(sums.high)?);
        if sums.low <= -MOST_SUM || sums.high >= MOST_SUM {
            return None;
        }
        scale.sums = sums;
        let below = (least > low).then_some(Threshold { result: least, sum: sums.low });
        let above = (most < high).then_some(Threshold { result: most + 1, sum: sums.high + 1 });
        let beyond = below.into_iter().chain(above).collect();
        let sums = match problem.rule {
            Rule::FixedPoint(rule) => threshold_sums(rule, Interval::new(least, most), scale),
            Rule::Binary64 => (least + 1..=most).map(|result| first_sum(problem.rule, result, scale)).collect(),
            Rule::Binary32 => (least + 1..=most).map(|result| first_sum_of_floats(result, scale)).collect(),
        };
        let mut stairs = Self { scale, first: least + 1, sums, magnitudes: vec![], beyond };
        let (mirrored, others) = stairs.sums.split_at(stairs.not_positive());
        let mut magnitudes = Vec::with_capacity(stairs.sums.len());
        magnitudes.extend(mirrored.iter().map(|sum| (1 - sum) as f64));
        magnitudes.extend(others.iter().map(|&sum| sum as f64));
        stairs.magnitudes = magnitudes;
        Some(stairs)
    }

    /// Returns the number of thresholds whose results are not positive.
    fn not_positive(&self) -> usize {
        (1 - self.first).clamp(0, self.sums.len() as i64) as usize
    }

    /// Returns the least and the greatest magnitude. Magnitudes fall up to the result 0, and rise from 1 on.
    pub fn range_of_magnitudes(&self) -> (f64, f64) {
        let (falling, rising) = self.magnitudes.split_at(self.not_positive());
        let ends = [falling.first(), falling.last(), rising.first(), rising.last()].into_iter().flatten();
        ends.fold((f64::INFINITY, 0.0), |(least, most), &end| (end.min(least), end.max(most)))
    }

    /// Returns about the greatest magnitude of scaled sums, rounded up.
    pub fn most_result(&self) -> i64 {
        let Interval { low: first, high: last } = self.scale.sums;
        (first.abs().max(last.abs()) as f64 * self.scale.factor()) as i64 + 2
    }

    /// Returns the result after the clamp, if all sums have the same one.
    pub fn constant(&self) -> Option<i64> {
        self.sums.is_empty().then_some(self.first - 1)
    }

    /// Returns the thresholds that sums reach.
    pub fn thresholds(&self) -> impl Iterator<Item = Threshold> {
        self.sums.iter().zip(self.first..).map(|(&sum, result)| Threshold { result, sum })
    }
}

/// Finds the first sum that reaches a result by bisection. The last sum must reach it and the first must not. Results never fall as sums grow.
fn first_sum(rule: Rule, result: i64, scale: Scale) -> i64 {
    let Interval { low: mut below, high: mut reaches } = scale.sums;
    while below + 1 < reaches {
        let middle = (below + reaches).div_euclid(2);
        if rule.scaled(middle as i32, scale) < result { below = middle } else { reaches = middle }
    }
    reaches
}

/// Finds the first sum that binary32 scales to a result. It is near the result scaled backwards.
fn first_sum_of_floats(result: i64, scale: Scale) -> i64 {
    let near = libm::ceil(scale.floats.sum_of(result as f64 - 0.5)) as i64;
    let reaches = |sum: i64| i32::try_from(sum).is_ok_and(|sum| Rule::Binary32.scaled(sum, scale) >= result);
    let is_first = (scale.sums.low + 1..=scale.sums.high).contains(&near) && reaches(near) && !reaches(near - 1);
    if is_first { near } else { first_sum(Rule::Binary32, result, scale) }
}

/// Computes the thresholds of a fixed-point rule. Sum · multiplier, rounded to 2³¹, must reach half of the divisor below the result. If the second
/// rounding takes ties away from zero, results that are not positive need one more.
fn threshold_sums(rule: RequantizeRule, Interval { low, high }: Interval, Scale { multiplier, shift, .. }: Scale) -> Vec<i64> {
    let is_double = rule == RequantizeRule::TfliteDouble;
    let (one, half) = (1 << (31 + shift), 1 << (30 + shift));
    let half = if is_double && shift > 0 { half + (1 << 30) } else { half };
    let tie = if is_double && shift > 0 { 1 << 31 } else { 0 };
    let step = Division::of(one, multiplier);
    let mut sums = Vec::with_capacity((high - low) as usize);
    for (results, tie) in [(low + 1..high.min(0) + 1, tie), (low.max(0) + 1..high + 1, 0)] {
        // The quotient of a number plus the divisor minus one is the quotient rounded up.
        let mut bound = Division::of(results.start * one - half + tie + multiplier - 1, multiplier);
        sums.extend(results.map(|_| {
            let sum = bound.quotient;
            bound = bound.plus(step, multiplier);
            sum
        }));
    }
    sums
}

/// A quotient by a fixed divisor, with its remainder. Additions of two need no division.
#[derive(Clone, Copy)]
struct Division {
    quotient: i64,
    rest: i64,
}

impl Division {
    fn of(number: i64, divisor: i64) -> Self {
        Self { quotient: number.div_euclid(divisor), rest: number.rem_euclid(divisor) }
    }

    fn plus(self, other: Self, divisor: i64) -> Self {
        let (quotient, rest) = (self.quotient + other.quotient, self.rest + other.rest);
        if rest < divisor { Self { quotient, rest } } else { Self { quotient: quotient + 1, rest: rest - divisor } }
    }
}
