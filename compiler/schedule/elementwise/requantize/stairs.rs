//! From which sums on the rule gives each result: the thresholds of a channel.

use super::numbers::ROOM;
use crate::ir::RequantizeRule;
use crate::ir::scalar::integer::requantize;

/// Sums below this, and above its negative, keep the numbers of the search in 64 bits.
const MOST_SUM: i64 = 1 << 30;

/// Numbers up to this can be added to what a sum is scaled to: that is [`MOST_SUM`] at most, and never wraps.
pub const MOST_ADDED: i64 = i32::MAX as i64 - MOST_SUM;

/// One channel: its sums, of an interval, are multiplied by multiplier × 2^(−31 − shift).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Scale {
    /// 0, or from 2²⁹ to 2³¹ − 1.
    pub multiplier: i64,
    /// The divisions by two.
    pub shift: u32,
    /// The interval of the sums.
    pub sums: (i64, i64),
    /// What the rules of binary32 and binary64 compute with.
    pub floats: Floats,
}

/// Bits of numbers of binary32: what a sum is multiplied by, what is added to that, and what it is multiplied by then. Or the high and the low half of
/// a number of binary64.
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

    /// The sum that is scaled to a number, but for what is rounded.
    fn sum_of(self, scaled: f64) -> f64 {
        let [factor, added, outer] = [self.factor, self.added, self.outer].map(|bits| f64::from(f32::from_bits(bits)));
        (scaled / outer - added) / factor
    }
}

/// How the reference scales a sum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// By the multiplier and the shift.
    FixedPoint(RequantizeRule),
    /// By [`Scale::floats`] as one factor of binary64: the product is rounded to nearest, then to an integer, halves away from zero.
    Binary64,
    /// By [`Scale::floats`] in binary32, each operation rounded, and then to an integer, ties to even.
    Binary32,
}

impl Rule {
    /// What a sum is scaled to.
    fn scaled(self, sum: i32, scale: Scale) -> i64 {
        let Scale { multiplier, shift, .. } = scale;
        match self {
            Self::FixedPoint(rule) => requantize(rule, sum, multiplier as i32, -(shift as i32)).into(),
            Self::Binary32 => libm::rintf(scale.floats.scaled(sum)) as i64,
            Self::Binary64 => libm::round(f64::from(sum) * scale.floats.double()) as i64,
        }
    }
}

/// What is known of all channels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Problem {
    /// How the reference rounds.
    pub rule: Rule,
    /// Results up to the first are one, and results from the second on.
    pub results: (i64, i64),
    /// Whether the kernel may round towards zero.
    pub toward_zero: bool,
    /// Whether results are narrowed to bytes at once, saturated.
    pub narrows: bool,
    /// Whether the machine scales by products of integers alone.
    pub integers: bool,
}

/// What a rule gives for the sums of a channel.
pub struct Stairs {
    /// The channel. Its sums reach to 0, so that they have the sign of their results, unless all have one result.
    pub scale: Scale,
    /// The result that the first threshold belongs to.
    pub first: i64,
    /// The thresholds that sums reach.
    pub sums: Vec<i64>,
    /// The magnitudes of these sums.
    pub magnitudes: Vec<f64>,
    /// The results next to them that are told apart and not reached, as if they were reached right after the last sum on their side.
    pub beyond: Vec<Threshold>,
}

/// The least sum with a result.
#[derive(Clone, Copy)]
pub struct Threshold {
    /// The result.
    pub result: i64,
    /// The sum.
    pub sum: i64,
}

impl Threshold {
    /// A magnitude of results and the least magnitude of sums that has it: below zero, the mirror image of the sum below the threshold.
    pub fn magnitude(self) -> (i64, i64) {
        if self.result > 0 { (self.result, self.sum) } else { (1 - self.result, 1 - self.sum) }
    }
}

/// Parameters of a channel.
pub struct Channel {
    /// One for each table.
    pub numbers: Vec<i32>,
    /// What is added to its sums before.
    pub offset: i32,
}

impl Scale {
    /// That of a sum which is multiplied by a positive factor of binary64 below one.
    pub fn of_double(factor: f64, sums: (i64, i64)) -> Option<Self> {
        Some(Self { floats: Floats::of_double(factor), ..Self::below(factor, sums)? })
    }

    /// The nearest to a positive factor below one, not above it.
    fn below(factor: f64, sums: (i64, i64)) -> Option<Self> {
        let (fraction, exponent) = libm::frexp(factor);
        let shift = u32::try_from(-exponent).ok()?;
        (fraction > 0.0).then(|| Self { multiplier: libm::ldexp(fraction, 31) as i64, shift, sums, floats: Floats::default() })
    }

    /// That of a sum which is multiplied by a factor, plus a number, and multiplied again, in binary32. Both factors are to be positive, and
    /// their product below one.
    pub fn of_floats([factor, added, outer]: [f32; 3], sums: (i64, i64)) -> Option<Self> {
        let product = f64::from(factor) * f64::from(outer);
        let floats = Floats { factor: factor.to_bits(), added: added.to_bits(), outer: outer.to_bits() };
        let scale = Self::below(product, sums).filter(|_| factor > 0.0 && added.is_finite())?;
        Some(Self { floats, ..scale })
    }

    /// Whether sums are scaled to numbers of 16 bits that leave room for what is added.
    pub fn fits_low_half(&self) -> bool {
        let most = ((1 << 15) - ROOM) as f64;
        [self.sums.0, self.sums.1].into_iter().all(|sum| (sum as f64 * self.factor()).abs() < most)
    }

    /// The factor of sums.
    fn factor(&self) -> f64 {
        self.multiplier as f64 / (1u64 << (31 + self.shift)) as f64
    }
}

impl Stairs {
    /// The stairs of a channel; `None` where numbers are too large.
    pub fn new(problem: &Problem, mut scale: Scale) -> Option<Self> {
        let (low, high) = problem.results;
        let scaled = |sum: i64| {
            let scaled = problem.rule.scaled(i32::try_from(sum).ok()?, scale);
            Some(scaled).filter(|scaled| scaled.abs() <= MOST_SUM)
        };
        let result = |sum: i64| Some(scaled(sum)?.clamp(low, high));
        let least = result(scale.sums.0)?;
        if least == result(scale.sums.1)? {
            return Some(Self { scale, first: least + 1, sums: vec![], magnitudes: vec![], beyond: vec![] });
        }
        let sums = (scale.sums.0.min(0), scale.sums.1.max(0));
        let (least, most) = (result(sums.0)?, result(sums.1)?);
        if sums.0 <= -MOST_SUM || sums.1 >= MOST_SUM {
            return None;
        }
        scale.sums = sums;
        let below = (least > low).then_some(Threshold { result: least, sum: sums.0 });
        let above = (most < high).then_some(Threshold { result: most + 1, sum: sums.1 + 1 });
        let beyond = below.into_iter().chain(above).collect();
        let sums = match problem.rule {
            Rule::FixedPoint(rule) => threshold_sums(rule, (least, most), scale),
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

    /// How many thresholds are of results that are not positive.
    fn not_positive(&self) -> usize {
        (1 - self.first).clamp(0, self.sums.len() as i64) as usize
    }

    /// The least and the greatest of the magnitudes: they fall up to the result 0, and rise from 1 on.
    pub fn range_of_magnitudes(&self) -> (f64, f64) {
        let (falling, rising) = self.magnitudes.split_at(self.not_positive());
        let ends = [falling.first(), falling.last(), rising.first(), rising.last()].into_iter().flatten();
        ends.fold((f64::INFINITY, 0.0), |(least, most), &end| (end.min(least), end.max(most)))
    }

    /// The greatest magnitude of what sums are scaled to, about.
    pub fn most_result(&self) -> i64 {
        let (first, last) = self.scale.sums;
        (first.abs().max(last.abs()) as f64 * self.scale.factor()) as i64 + 2
    }

    /// The one result, after the clamp, of a channel that has no other.
    pub fn constant(&self) -> Option<i64> {
        self.sums.is_empty().then_some(self.first - 1)
    }

    /// The least sum with each result that sums reach.
    pub fn thresholds(&self) -> impl Iterator<Item = Threshold> {
        self.sums.iter().zip(self.first..).map(|(&sum, result)| Threshold { result, sum })
    }
}

/// The first sum that reaches a result, which the last one does and the first one does not. No result falls as sums grow.
fn first_sum(rule: Rule, result: i64, scale: Scale) -> i64 {
    let (mut below, mut reaches) = scale.sums;
    while below + 1 < reaches {
        let middle = (below + reaches).div_euclid(2);
        if rule.scaled(middle as i32, scale) < result { below = middle } else { reaches = middle }
    }
    reaches
}

/// The first sum that binary32 scales to a result: it is near the one that scaling backwards gives.
fn first_sum_of_floats(result: i64, scale: Scale) -> i64 {
    let near = libm::ceil(scale.floats.sum_of(result as f64 - 0.5)) as i64;
    let reaches = |sum: i64| i32::try_from(sum).is_ok_and(|sum| Rule::Binary32.scaled(sum, scale) >= result);
    let is_first = (scale.sums.0 + 1..=scale.sums.1).contains(&near) && reaches(near) && !reaches(near - 1);
    if is_first { near } else { first_sum(Rule::Binary32, result, scale) }
}

/// Sum · multiplier rounded to 2³¹ must reach half of the divisor below the result; where the second rounding takes ties away from zero,
/// one more for results that are not positive.
fn threshold_sums(rule: RequantizeRule, (low, high): (i64, i64), Scale { multiplier, shift, .. }: Scale) -> Vec<i64> {
    let is_double = rule == RequantizeRule::TfliteDouble;
    let (one, half) = (1 << (31 + shift), 1 << (30 + shift));
    let half = if is_double && shift > 0 { half + (1 << 30) } else { half };
    let tie = if is_double && shift > 0 { 1 << 31 } else { 0 };
    let step = Division::of(one, multiplier);
    let mut sums = Vec::with_capacity((high - low) as usize);
    for (results, tie) in [(low + 1..high.min(0) + 1, tie), (low.max(0) + 1..high + 1, 0)] {
        // Of a number and the divisor less one, the quotient is that of the number rounded up.
        let mut bound = Division::of(results.start * one - half + tie + multiplier - 1, multiplier);
        sums.extend(results.map(|_| {
            let sum = bound.quotient;
            bound = bound.plus(step, multiplier);
            sum
        }));
    }
    sums
}

/// A number divided by one that is fixed. Sums of them take no division.
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
