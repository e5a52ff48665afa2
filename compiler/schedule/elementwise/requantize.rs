//! Requantization by constant multipliers as few instructions, each channel proven to give the reference's integers.
//!
//! Behind a requantization stands a clamp to a few hundred integers, from `low` to `high`. The rule's result never falls as the sum grows, so for
//! each of these integers there is one sum from which on it is reached: a **threshold**. Any other function that never falls and has the same
//! thresholds gives the same integers after the clamp, whatever it rounds inside. So parameters are searched for which a cheap sequence has
//! the thresholds of the rule: by bounds that are exact where one product and one sum are rounded, by computing both sides of every threshold
//! elsewhere. Only thresholds that sums reach count: the many dead channels of trained models, whose scales are tiny and whose biases are huge, have
//! none, and their result is a constant. These are tried:
//!
//! - `trunc(sum · scale + c)` in binary32, with c below one half or above as the windows say, and with the sum's sign where negative results matter.
//!   The sum of 24 bits is rounded once more, which places the thresholds of multipliers above 2⁻⁹ or so.
//! - The same where that rounding is towards zero, and so takes nothing from what is truncated anyway: 24 bits of the scale remain, for
//!   multipliers above 2⁻¹¹ or so. The kernel has to set the processor's mode for it.
//! - `trunc(sum · scale + (sum · rest + c))`, rounded towards zero, the scale in two numbers: for all others. The inner sum is below 2, so it is
//!   rounded by less than the outer grows from one sum to the next, and the results never fall.
//! - `((sum + offset) · multiplier >> 32) >> shift` with one unsigned product. The offset makes every sum positive; it is also what rounds, since
//!   some offset leaves the wanted fraction. The double rounding takes ties away from zero, which moves the thresholds of negative results by
//!   one unit before the shift: 1 is subtracted below a pivot. Sums can begin with the offset, so it takes no instruction.

use crate::ir::RequantizeRule;
use crate::ir::scalar::integer::requantize;
use crate::kernel::interpret::fma_toward_zero;
use crate::kernel::{BinaryOp, CompareOp, ConvertOp, KernelBuilder, Lane, Rounding, Value};
use crate::parallel::Memo;
use std::sync::Arc;

/// More results than this are not proven one by one.
const MOST_RESULTS: i64 = 1 << 10;
/// Sums below this, and above its negative, keep the numbers of the search in 64 bits.
const MOST_SUM: i64 = 1 << 30;
/// Shifts up to this keep the thresholds that sums reach in 64 bits.
const MOST_SHIFT: u32 = 31;
/// Shifts up to this keep all numbers of the search for a product in 64 bits.
const MOST_PRODUCT_SHIFT: u32 = 16;
/// Neighbours of a scale or multiplier that are tried. Random multipliers need 25 at most.
const NEIGHBOURS: i64 = 128;
/// Offsets that are tried for a multiplier; one of about 500 fits.
const OFFSETS: i64 = 1 << 12;

/// One channel: its sums, of an interval, are multiplied by multiplier × 2^(−31 − shift).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Scale {
    /// 0, or from 2²⁹ to 2³¹ − 1.
    pub multiplier: i64,
    /// The divisions by two.
    pub shift: u32,
    /// The interval of the sums.
    pub sums: (i64, i64),
}

/// What is known of all channels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Problem {
    /// How the reference rounds.
    pub rule: RequantizeRule,
    /// Results up to the first are one, and results from the second on.
    pub results: (i64, i64),
    /// Whether the kernel may round towards zero.
    pub toward_zero: bool,
}

/// A sequence of instructions. The operands of each after the sum are tables with a number a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Requantizer {
    /// `trunc(sum · scale + c)`: scale and c as the bits of binary32. If `signed`, c has the sign of the sum.
    Float {
        /// Whether negative results matter.
        signed: bool,
        /// What happens inside.
        precision: Precision,
    },
    /// `(((sum · multiplier >> 32) − (it is below the pivot)) >> shift) + constant`; the pivot only if `signed`.
    HighProduct {
        /// Whether there is a pivot.
        signed: bool,
    },
    /// `trunc(a · scale + (b · scale + c)) + constant`: see [`super::sum_of_two`]. Operands are a, b, the scales and c as the bits of binary32,
    /// and the constant.
    SumOfTwo {
        /// How both products and sums round.
        precision: Precision,
    },
}

/// How a product with a scale and the sum after it are computed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Precision {
    /// Rounded to nearest.
    Nearest,
    /// Rounded towards zero.
    TowardZero,
    /// Rounded towards zero, with a second number that the scale lacks.
    TowardZeroTwice,
}

/// A sequence and its parameters.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The instructions.
    pub requantizer: Requantizer,
    /// The tables in the order of the operands, one number a channel each.
    pub tables: Vec<Vec<i32>>,
    /// What is added to the sums of each channel before; all zeros for none.
    pub offsets: Vec<i32>,
}

/// What was searched for so far: a layer's schedule is made anew for each plan that is tried and for each level.
#[derive(Default)]
pub struct Solved {
    known: Memo<(Problem, Vec<Scale>), Option<Arc<Solution>>>,
}

impl Solved {
    /// What [`solve`] gives, searched for once.
    pub fn solve(&self, problem: Problem, scales: Vec<Scale>) -> Option<Arc<Solution>> {
        let key = (problem, scales);
        self.known.get(&key, || solve(&key.0, &key.1).map(Arc::new))
    }
}

/// The cheapest sequence that gives the rule's results in every channel, if one is found.
fn solve(problem: &Problem, scales: &[Scale]) -> Option<Solution> {
    let (low, high) = problem.results;
    let fits = |scale: &Scale| (scale.multiplier == 0 || (1 << 29..1 << 31).contains(&scale.multiplier)) && scale.shift <= MOST_SHIFT;
    if high <= low || high - low > MOST_RESULTS || low.abs().max(high.abs()) > MOST_RESULTS || !scales.iter().all(fits) {
        return None;
    }
    let stairs: Vec<Stairs> = scales.iter().map(|scale| Stairs::new(problem, *scale)).collect::<Option<_>>()?;
    let float = |precision| Requantizer::Float { signed: low < 0, precision };
    let is_exact = |stairs: &Stairs| stairs.constant().is_some() || stairs.scale.sums.0.abs().max(stairs.scale.sums.1) <= MOST_EXACT;
    let toward_zero = problem.toward_zero && stairs.iter().all(is_exact);
    let toward_zero = [Precision::TowardZero, Precision::TowardZeroTwice].map(float).into_iter().filter(|_| toward_zero);
    let products = [false, true].map(|signed| Requantizer::HighProduct { signed });
    [float(Precision::Nearest)].into_iter().chain(toward_zero).chain(products).find_map(|requantizer| {
        let channels: Vec<Channel> = match requantizer {
            Requantizer::Float { precision, .. } => {
                let least: Vec<f64> = (low + 1..=high).map(|result| precision.least(result)).collect();
                let least_of = |stairs: &Stairs| &least[(stairs.first - low - 1) as usize..][..stairs.sums.len()];
                stairs.iter().map(|stairs| float_channel(stairs, least_of(stairs), precision)).collect::<Option<_>>()
            }
            Requantizer::HighProduct { signed } => stairs.iter().map(|stairs| product_channel(stairs, signed)).collect(),
            // That is of two sums.
            Requantizer::SumOfTwo { .. } => None,
        }?;
        let tables = (0..channels[0].numbers.len()).map(|i| channels.iter().map(|channel| channel.numbers[i]).collect()).collect();
        Some(Solution { requantizer, tables, offsets: channels.iter().map(|channel| channel.offset).collect() })
    })
}

/// What a rule gives for the sums of a channel.
struct Stairs {
    /// The channel. Its sums reach to 0, so that they have the sign of their results, unless all have one result.
    scale: Scale,
    /// The result that the first threshold belongs to.
    first: i64,
    /// The thresholds that sums reach.
    sums: Vec<i64>,
    /// The magnitudes of these sums.
    magnitudes: Vec<f64>,
    /// The results next to them that are told apart and not reached, as if they were reached right after the last sum on their side.
    beyond: Vec<Threshold>,
}

/// The least sum with a result.
#[derive(Clone, Copy)]
struct Threshold {
    result: i64,
    sum: i64,
}

impl Threshold {
    /// A magnitude of results and the least magnitude of sums that has it: below zero, the mirror image of the sum below the threshold.
    fn magnitude(self) -> (i64, i64) {
        if self.result > 0 { (self.result, self.sum) } else { (1 - self.result, 1 - self.sum) }
    }
}

/// Parameters of a channel.
struct Channel {
    numbers: Vec<i32>,
    offset: i32,
}

impl Stairs {
    /// The stairs of a channel; `None` where numbers are too large.
    fn new(problem: &Problem, mut scale: Scale) -> Option<Self> {
        let (low, high) = problem.results;
        let result = |sum: i64| {
            let sum = i32::try_from(sum).ok()?;
            Some(i64::from(requantize(problem.rule, sum, scale.multiplier as i32, -(scale.shift as i32))).clamp(low, high))
        };
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
        let sums = threshold_sums(problem.rule, (least, most), scale);
        let mut stairs = Self { scale, first: least + 1, sums, magnitudes: vec![], beyond };
        stairs.magnitudes = stairs.thresholds().map(|threshold| threshold.magnitude().1 as f64).collect();
        Some(stairs)
    }

    /// The one result, after the clamp, of a channel that has no other.
    fn constant(&self) -> Option<i64> {
        self.sums.is_empty().then_some(self.first - 1)
    }

    fn thresholds(&self) -> impl Iterator<Item = Threshold> {
        self.sums.iter().zip(self.first..).map(|(&sum, result)| Threshold { result, sum })
    }
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

/// Scale, what it lacks, and c.
#[derive(Clone, Copy)]
struct Line {
    scale: f32,
    rest: f32,
    c: f32,
}

impl Line {
    /// `trunc(sum · scale + c)` as the machine computes it, for sums that are not negative.
    fn result(&self, sum: i64, precision: Precision) -> i64 {
        let sum = sum as f32;
        match precision {
            Precision::Nearest => sum.mul_add(self.scale, self.c) as i64,
            Precision::TowardZero => fma_toward_zero(sum, self.scale, self.c) as i64,
            Precision::TowardZeroTwice => fma_toward_zero(sum, self.scale, fma_toward_zero(sum, self.rest, self.c)) as i64,
        }
    }

    /// Whether a result begins at its threshold.
    fn meets(&self, threshold: Threshold, precision: Precision) -> bool {
        let (result, sum) = threshold.magnitude();
        self.result(sum, precision) >= result && self.stays_below(threshold, precision)
    }

    /// Whether the sum before a threshold does not have its result.
    fn stays_below(&self, threshold: Threshold, precision: Precision) -> bool {
        let (result, sum) = threshold.magnitude();
        self.result(sum - 1, precision) < result
    }

    fn numbers(&self, precision: Precision) -> Vec<i32> {
        let rest = (precision == Precision::TowardZeroTwice).then_some(self.rest);
        [self.scale].into_iter().chain(rest).chain([self.c]).map(|number| number.to_bits() as i32).collect()
    }
}

/// A channel in binary32. What its magnitude `sum · slope + c` is truncated to is at least a result from a certain sum on: that is a lower
/// bound of c, and the sum before is an upper one. All of these numbers are exact in binary64. `least` is [`Precision::least`] of the results that
/// have thresholds.
fn float_channel(stairs: &Stairs, least: &[f64], precision: Precision) -> Option<Channel> {
    let Stairs { scale, magnitudes, beyond, .. } = stairs;
    if let Some(result) = stairs.constant() {
        // c gets the sign of the sums, which is that of the result.
        let line = Line { scale: 0.0, rest: 0.0, c: result.abs() as f32 + 0.5 };
        return Some(Channel { numbers: line.numbers(precision), offset: 0 });
    }
    if magnitudes.iter().any(|&sum| sum <= 0.0) {
        return None;
    }
    // What the bounds do not say, for sums or a product are rounded once more.
    let last = |beyond: &Threshold| (beyond.magnitude().1 - 1) as f64;
    let is_rounded = |sum: f64| sum > MOST_EXACT as f64;
    let rounds_inside = precision == Precision::TowardZeroTwice
        || magnitudes.iter().any(|&sum| is_rounded(sum))
        || beyond.iter().any(|beyond| is_rounded(last(beyond)));
    let exact = scale.multiplier as f64 / (1u64 << (31 + scale.shift)) as f64;
    let nearest = (exact as f32).to_bits() as i64;
    // With a rest the scale is as near as can be.
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

/// The largest integer below which all are binary32 numbers.
const MOST_EXACT: i64 = 1 << 24;

impl Precision {
    fn rounding(self) -> Rounding {
        if self == Self::Nearest { Rounding::Nearest } else { Rounding::TowardZero }
    }

    /// What the magnitude of `sum · slope + c` must be at least for a result.
    fn least(self, result: i64) -> f64 {
        let magnitude = if result > 0 { result } else { 1 - result };
        match self {
            // From the middle between it and the number before on it is rounded to, the tie included: its last bit is zero.
            Self::Nearest => magnitude as f64 - 0.5 * unit_below(magnitude),
            // Truncated, a number that was rounded towards zero is what it was before.
            Self::TowardZero | Self::TowardZeroTwice => magnitude as f64,
        }
    }
}

/// c is at least the first number and less than the second.
fn bounds(magnitudes: &[f64], least: &[f64], slope: f64) -> (f64, f64) {
    /// As many are compared at once, so that instructions of the host can do it.
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
    // The window of each threshold is as wide as the slope.
    let high = least_missing.into_iter().fold(f64::INFINITY, f64::min) + slope;
    (most_missing.into_iter().fold(0.0, f64::max), high.min(1.0))
}

/// From a positive integer down to the next number of binary32.
fn unit_below(integer: i64) -> f64 {
    let exponent = (integer as u64 - 1).checked_ilog2().map_or(-1, i64::from);
    f64::from_bits(((1023 + exponent - 23) as u64) << 52)
}

/// 0, 1, −1, 2, −2, …
pub(super) fn neighbour(number: i64) -> i64 {
    if number % 2 == 1 { number / 2 + 1 } else { -(number / 2) }
}

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
        // As the machine has it: from 0, 1 is subtracted modulo 2³².
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

/// With M the multiplier and D = offset · M − constant · 2^(32 + shift), a threshold is met where D lies in a window as wide as M. The
/// windows of all thresholds have a small one in common; some of the numbers D, one for each constant, lies in it.
fn product_channel(stairs: &Stairs, signed: bool) -> Option<Channel> {
    let (scale, thresholds) = (&stairs.scale, || stairs.thresholds());
    if let Some(constant) = stairs.constant() {
        return Some(Product { offset: 0, multiplier: 0, pivot: 0, shift: 0, constant }.channel(signed));
    }
    let shift = scale.shift;
    if shift > MOST_PRODUCT_SHIFT {
        return None;
    }
    // Sums stay below 2³¹ with their offset, so that signed comparisons order them.
    let (first, last) = (-scale.sums.0, (1 << 31) - 1 - scale.sums.1);
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
        // From the constant with the first offset that makes all sums positive.
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

impl Requantizer {
    /// How it rounds floats, if it has any.
    pub fn precision(self) -> Option<Precision> {
        match self {
            Self::Float { precision, .. } | Self::SumOfTwo { precision } => Some(precision),
            Self::HighProduct { .. } => None,
        }
    }

    /// The instructions. Operands are the sum, with its offset, and the tables, in lanes of 32 bits, but for [`Self::SumOfTwo`].
    pub fn emit(self, b: &mut KernelBuilder, operands: &[Value]) -> Value {
        let sum = operands[0];
        match self {
            Self::Float { signed, precision } => {
                let mut c = operands[operands.len() - 1];
                if signed {
                    let ty = b.ty(sum);
                    let top = b.int(ty, i32::MIN.into());
                    let sign = b.binary(BinaryOp::And, sum, top);
                    c = b.binary(BinaryOp::Or, sign, c);
                }
                let rounding = precision.rounding();
                let mut scaled = b.convert(ConvertOp::Bitcast, c, Lane::F32);
                let float = b.convert(ConvertOp::SignedToFloat, sum, Lane::F32);
                // What the scale lacks first.
                for &factor in operands[1..operands.len() - 1].iter().rev() {
                    let factor = b.convert(ConvertOp::Bitcast, factor, Lane::F32);
                    scaled = b.fma_rounded(float, factor, scaled, rounding);
                }
                b.convert(ConvertOp::FloatToSignedInRange, scaled, Lane::I32)
            }
            Self::HighProduct { signed } => {
                let mut high = b.mul_high_unsigned(sum, operands[1]);
                if signed {
                    let below = b.compare(CompareOp::Less, high, operands[2]);
                    let one = b.convert(ConvertOp::MaskToInteger, below, Lane::I32);
                    high = b.sub(high, one);
                }
                let [shift, constant] = [operands[operands.len() - 2], operands[operands.len() - 1]];
                let quotient = b.binary(BinaryOp::ShiftRightUnsigned, high, shift);
                b.add(quotient, constant)
            }
            Self::SumOfTwo { precision } => {
                let [first, second] = [0, 1].map(|i| b.convert(ConvertOp::SignedToFloat, operands[i], Lane::F32));
                let [outer, inner, c] = [2, 3, 4].map(|i| b.convert(ConvertOp::Bitcast, operands[i], Lane::F32));
                let sum = b.fma_rounded(second, inner, c, precision.rounding());
                let sum = b.fma_rounded(first, outer, sum, precision.rounding());
                let whole = b.convert(ConvertOp::FloatToSignedInRange, sum, Lane::I32);
                b.add(whole, operands[5])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a solution gives for a sum, in the words of its definition.
    fn computed(solution: &Solution, channel: usize, sum: i64) -> i64 {
        let number = |table: usize| solution.tables[table][channel];
        match solution.requantizer {
            Requantizer::Float { signed, precision } => {
                let numbers: Vec<f32> = (0..solution.tables.len()).map(|table| f32::from_bits(number(table) as u32)).collect();
                let (sum, c) = (sum as f32, numbers[numbers.len() - 1]);
                let c = if signed && sum < 0.0 { -c } else { c };
                match precision {
                    Precision::Nearest => sum.mul_add(numbers[0], c) as i64,
                    Precision::TowardZero => fma_toward_zero(sum, numbers[0], c) as i64,
                    Precision::TowardZeroTwice => fma_toward_zero(sum, numbers[0], fma_toward_zero(sum, numbers[1], c)) as i64,
                }
            }
            Requantizer::SumOfTwo { .. } => unreachable!("no solution for one sum"),
            Requantizer::HighProduct { signed } => {
                let sum = (sum + i64::from(solution.offsets[channel])) as u64;
                let mut high = (sum * u64::from(number(0) as u32)) >> 32;
                if signed && high < number(1) as u64 {
                    high -= 1;
                }
                let last = solution.tables.len() - 1;
                (high >> number(last - 1)) as i64 + i64::from(number(last))
            }
        }
    }

    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % n
        }
    }

    #[test]
    fn solutions_give_the_results_of_the_rule() {
        let mut numbers = Numbers(1);
        let mut used = [0; 4];
        for case in 0..1200 {
            let rule = if case % 4 == 3 { RequantizeRule::TfliteSingle } else { RequantizeRule::TfliteDouble };
            let shift = numbers.below(14) as u32;
            let channels = 1 + case % 3;
            let special = [0, 1 << 30, (1 << 31) - 1, 3 << 29];
            let mut multiplier = || match numbers.below(12) {
                n @ 0..4 => special[n as usize],
                _ => (1 << 30) + numbers.below(1 << 30) as i64,
            };
            let bound = 1 << (8 + shift + case % 4);
            let mut scales: Vec<Scale> = (0..channels).map(|_| Scale { multiplier: multiplier(), shift, sums: (-bound, bound) }).collect();
            if case % 5 == 0 {
                // A channel that is nearly dead, or dead: a tiny scale, and perhaps a huge bias.
                scales[0].shift += 1 + case / 5 % 17;
                let bias = [0, 1 << 30, -(1 << 30), 3 << 20][(case / 5 % 4) as usize];
                scales[0].sums = (bias - bound, bias + bound);
            }
            let low = -(numbers.below(256) as i64);
            let problem = Problem { rule, results: (low, low + 255), toward_zero: case % 2 == 0 };
            let Some(solution) = solve(&problem, &scales) else { continue };
            used[match solution.requantizer {
                Requantizer::Float { precision: Precision::Nearest, .. } => 0,
                Requantizer::Float { precision: Precision::TowardZero, .. } => 1,
                Requantizer::Float { precision: Precision::TowardZeroTwice, .. } => 2,
                Requantizer::HighProduct { .. } => 3,
                Requantizer::SumOfTwo { .. } => unreachable!("no solution for one sum"),
            }] += 1;
            for (channel, scale) in scales.iter().enumerate() {
                let (first, last) = scale.sums;
                let random = (0..2000).map(|_| first + numbers.below(2 * bound as u64) as i64).collect::<Vec<_>>();
                let unit = 1i64 << scale.shift;
                let ties = (-300..300).flat_map(|i| (-3..4).map(move |d| i * unit + unit / 2 + d));
                let sides = Stairs::new(&problem, *scale).into_iter().flat_map(|stairs| stairs.sums).flat_map(|sum| [sum - 1, sum]);
                let sums = random.into_iter().chain(ties).chain(sides).chain([first, last, 0, 1, -1]);
                for sum in sums.filter(|sum| (first..=last).contains(sum)) {
                    let wanted = i64::from(requantize(rule, sum as i32, scale.multiplier as i32, -(scale.shift as i32)));
                    let clamp = |n: i64| n.clamp(problem.results.0, problem.results.1);
                    let found = computed(&solution, channel, sum);
                    assert_eq!(clamp(found), clamp(wanted), "{problem:?} {scale:?} {:?} of {sum}", solution.requantizer);
                }
            }
        }
        // Nearly all have a solution, and every kind is used.
        assert!(used.iter().all(|&n| n > 10) && used.iter().sum::<i32>() > 1100, "{used:?}");
    }

    #[test]
    fn the_unit_below_an_integer_is_that_of_binary32() {
        for integer in 1..=MOST_RESULTS {
            let number = integer as f32;
            assert_eq!(unit_below(integer), f64::from(number) - f64::from(number.next_down()), "{integer}");
        }
    }

    #[test]
    fn what_cannot_be_proven_has_no_solution() {
        let scale = Scale { multiplier: 1 << 30, shift: 4, sums: (-1000, 1000) };
        let problem = Problem { rule: RequantizeRule::TfliteDouble, results: (-128, 127), toward_zero: true };
        assert!(solve(&problem, &[scale]).is_some());
        assert!(solve(&Problem { results: (-40_000, 40_000), ..problem }, &[scale]).is_none());
        assert!(solve(&problem, &[Scale { sums: (i32::MIN.into(), 1000), ..scale }]).is_none());
        assert!(solve(&problem, &[Scale { multiplier: -1, ..scale }]).is_none());
    }
}
