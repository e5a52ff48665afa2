//! Sums of two scaled bytes, as in quantized additions and subtractions, by two fused multiply-adds or two products of integers.
//!
//! The rule scales each operand to a number of about 28 bits, adds these, and scales the sum to a byte: three requantizations. An operand has 256
//! values, so there are 65,536 results, and any function with the same results is equal. For the scales of almost all models, `trunc(a · scale + (b ·
//! scale + c))` in binary32 is such a function. The search looks for its parameters and tests them on all pairs. `integers.rs` is a second form.

mod integers;

use super::ranges::Range;
use super::requantize::{Precision, neighbour};
use crate::ir::scalar::integer::requantize;
use crate::ir::{Expression, Interval, Node, RequantizeRule, ScalarOp};
use crate::kernel::interpret::fma_toward_zero;
use crate::parallel::Memo;
use cranelift_entity::EntityRef;

/// Maximum number of an operand's values.
const MOST_VALUES: usize = 256;
/// Maximum distance between the least and the greatest distinguished result.
const MOST_RESULTS: i64 = 255;
/// Upper bound of the relative rounding error of a few sums in binary64.
const ROUNDED: f64 = 1.0 / (1u64 << 46) as f64;
/// Number of neighbours of each scale that are tried. Random scales need at most six.
const NEIGHBOURS: i64 = 8;

/// An operand: a node with few values, and the scaled number of each value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Term {
    /// The node.
    pub node: Node,
    /// Least value.
    least: i32,
    /// Scaled numbers of the least value and of the values after it.
    scaled: Vec<i32>,
}

/// A requantization of the sum of two terms.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SumOfTwo {
    /// The terms.
    pub terms: [Term; 2],
    rule: RequantizeRule,
    multiplier: i32,
    shift: i32,
}

/// Key of a search: a sum, the interval of results, and the rounding. It has no rounding for integers.
type Wanted = (SumOfTwo, Interval, Option<Precision>);

/// Memo of searches.
#[derive(Default)]
pub struct Fits(Memo<Wanted, Option<Fit>>);

impl Fits {
    /// Returns the result of [`SumOfTwo::fit`], which runs once for each sum.
    pub fn fit(&self, sum: &SumOfTwo, results: Interval, precision: Precision) -> Option<Fit> {
        self.0.get(&(sum.clone(), results, Some(precision)), || sum.fit(results, precision))
    }

    /// Finds numbers of 32 bits, as [`Self::fit`] does. The search runs once for each sum.
    pub fn fit_integers(&self, sum: &SumOfTwo, results: Interval) -> Option<Fit> {
        let search = || sum.takes(results).then(|| sum.integers(results).map(Fit::Integers)).flatten();
        self.0.get(&(sum.clone(), results, None), search)
    }
}

/// Numbers that compute a [`SumOfTwo`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fit {
    /// Numbers of binary32.
    Floats(Floats),
    /// Numbers of 32 bits.
    Integers(Integers),
}

/// Binary32 numbers that compute a [`SumOfTwo`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Floats {
    /// Factors of the two terms, the outer product's first.
    scales: [f32; 2],
    c: f32,
    /// `true` if the outer product takes the second term.
    pub swapped: bool,
    /// Number that is added to the truncated sum.
    pub least: i32,
}

impl Floats {
    /// Returns the numbers in the order of the operands: the scales, and c.
    pub fn numbers(&self) -> [i32; 3] {
        [self.scales[0], self.scales[1], self.c].map(|number| number.to_bits() as i32)
    }

    fn inner(&self, value: i32, precision: Precision) -> f32 {
        multiply_add(value, self.scales[1], self.c, precision)
    }

    fn outer(&self, value: i32, inner: f32, precision: Precision) -> i64 {
        multiply_add(value, self.scales[0], inner, precision) as i64
    }
}

/// Integers of 32 bits that compute a [`SumOfTwo`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Integers {
    /// Factors of the two terms.
    scales: [i32; 2],
    c: i32,
    shift: u32,
    /// Least and greatest sum before the shift.
    sums: (i64, i64),
}

impl Integers {
    /// Returns the numbers in the order of the operands: the scales, c and the shift.
    pub fn numbers(&self) -> [i32; 4] {
        [self.scales[0], self.scales[1], self.c, self.shift as i32]
    }

    /// Returns the numbers that make results larger by `number`. `None` if sums leave 32 bits.
    pub fn plus(&self, number: i64) -> Option<Self> {
        let added = number.checked_mul(1 << self.shift)?;
        let sums = (self.sums.0.checked_add(added)?, self.sums.1.checked_add(added)?);
        let c = i32::try_from(i64::from(self.c).checked_add(added)?).ok()?;
        [sums.0, sums.1].iter().all(|&sum| i32::try_from(sum).is_ok()).then_some(Self { c, sums, ..*self })
    }
}

/// Returns a neighbour of a scale in binary32, by its place in the list of [`neighbour`].
fn beside(scale: f32, number: i64) -> f32 {
    f32::from_bits((i64::from(scale.to_bits()) + neighbour(number)).max(0) as u32)
}

fn multiply_add(value: i32, scale: f32, c: f32, precision: Precision) -> f32 {
    let value = value as f32;
    if precision == Precision::Nearest { value.mul_add(scale, c) } else { fma_toward_zero(value, scale, c) }
}

impl SumOfTwo {
    /// Matches a node of an expression. `None` if it computes something else. `ranges` are the nodes' ranges.
    pub fn of(expression: &Expression, ranges: &[Range], node: Node) -> Option<Self> {
        let (rule, sum, multiplier, shift) = requantization(expression, node)?;
        let data = &expression.nodes[sum];
        let is_difference = data.op == ScalarOp::Sub;
        if !is_difference && data.op != ScalarOp::Add {
            return None;
        }
        let first = Term::of(expression, ranges, data.operands[0])?;
        let mut second = Term::of(expression, ranges, data.operands[1])?;
        if is_difference {
            second.scaled.iter_mut().for_each(|value| *value = value.wrapping_neg());
        }
        Some(Self { terms: [first, second], rule, multiplier, shift })
    }

    /// Finds numbers that give the results of all pairs. Results up to the low end count as one, and so do results from the high end on.
    pub fn fit(&self, results: Interval, precision: Precision) -> Option<Fit> {
        if !self.takes(results) {
            return None;
        }
        let floats = self.floats(results, precision).map(Fit::Floats);
        floats.or_else(|| self.integers(results).map(Fit::Integers))
    }

    /// Tests whether there are few results, and the last shift is to the right. This leaves room for a number that is added.
    fn takes(&self, Interval { low, high }: Interval) -> bool {
        (1..=MOST_RESULTS).contains(&(high - low)) && low.abs() <= 2 * MOST_RESULTS && self.shift < 0
    }

    fn floats(&self, results: Interval, precision: Precision) -> Option<Floats> {
        [false, true].into_iter().find_map(|swapped| {
            let [outer, inner] = if swapped { [&self.terms[1], &self.terms[0]] } else { [&self.terms[0], &self.terms[1]] };
            let table = Table::new(self, outer, inner, results);
            let nearest = [outer, inner].map(|term| (term.slope() * self.scale()) as f32);
            let moved = |scale: f32| (0..NEIGHBOURS).map(|n| (f64::from(beside(scale, n)) - f64::from(scale)).abs()).fold(0.0, f64::max);
            let tight = table.tight(nearest.map(f64::from), nearest.map(moved));
            (0..NEIGHBOURS * NEIGHBOURS).find_map(|number| {
                let scales = [beside(nearest[0], number % NEIGHBOURS), beside(nearest[1], number / NEIGHBOURS)];
                let c = tight.middle(scales)? as f32;
                let fit = Floats { scales, c, swapped, least: results.low as i32 };
                table.is_met(&fit, precision).then_some(fit)
            })
        })
    }

    fn scale(&self) -> f64 {
        f64::from(self.multiplier) / f64::from(1u32 << 31) * 2f64.powi(self.shift)
    }
}

/// Returns the rule, the sum, the multiplier and the shift of a requantization by numbers.
fn requantization(expression: &Expression, node: Node) -> Option<(RequantizeRule, Node, i32, i32)> {
    let data = &expression.nodes[node];
    let ScalarOp::Requantize(rule) = data.op else { return None };
    let [sum, multiplier, shift] = data.operands[..] else { return None };
    Some((rule, sum, constant(expression, multiplier)?, constant(expression, shift)?))
}

fn constant(expression: &Expression, node: Node) -> Option<i32> {
    let ScalarOp::Constant(value) = expression.nodes[node].op else { return None };
    i32::try_from(value.as_i64()).ok()
}

impl Term {
    fn of(expression: &Expression, ranges: &[Range], node: Node) -> Option<Self> {
        let (rule, mut node, multiplier, shift) = requantization(expression, node)?;
        // Operations on the operand before its requantization, the last first.
        let mut steps = Vec::new();
        while let [first, second] = expression.nodes[node].operands[..] {
            let (op, numbers) = (expression.nodes[node].op, [first, second].map(|n| constant(expression, n)));
            let (operand, number) = match (op, numbers) {
                (ScalarOp::Add, [Some(number), None]) => (second, number),
                (ScalarOp::Add | ScalarOp::Sub, [None, Some(number)]) => (first, number),
                (ScalarOp::ShiftLeft, [None, Some(number)]) if (0..32).contains(&number) => (first, number),
                _ => break,
            };
            steps.push((op, number));
            node = operand;
        }
        let Range { low: least, high: most } = ranges[node.index()];
        let values = i32::try_from(least).ok()?..=i32::try_from(most).ok()?;
        if values.is_empty() || most - least >= MOST_VALUES as i128 {
            return None;
        }
        let step = |value: i32, &(op, number): &(ScalarOp, i32)| match op {
            ScalarOp::Add => value.wrapping_add(number),
            ScalarOp::Sub => value.wrapping_sub(number),
            _ => value << number,
        };
        let scaled = |value: i32| requantize(rule, steps.iter().rev().fold(value, step), multiplier, shift);
        Some(Self { node, least: *values.start(), scaled: values.map(scaled).collect() })
    }

    /// Returns the mean growth of scaled numbers from one value to the next.
    fn slope(&self) -> f64 {
        let steps = (self.scaled.len() - 1).max(1);
        let [first, last] = [0, self.scaled.len() - 1].map(|i| f64::from(self.scaled[i]));
        (last - first) / steps as f64
    }

    fn values(&self) -> impl Iterator<Item = i32> {
        (self.least..).take(self.scaled.len())
    }
}

/// The results of all pairs, minus the least distinguished one. Each value of the inner term has a row.
struct Table<'a> {
    outer: &'a Term,
    inner: &'a Term,
    results: Vec<u8>,
    /// Greatest result.
    top: i64,
}

/// Two values and their result.
#[derive(Clone, Copy)]
struct Pair {
    a: f64,
    b: f64,
    result: f64,
}

impl Pair {
    fn missing(self, [outer, inner]: [f64; 2]) -> f64 {
        self.result - (self.a * outer + self.b * inner)
    }
}

/// Pairs of a table that bound c from below and from above.
#[derive(Default)]
struct Tight {
    below: Vec<Pair>,
    above: Vec<Pair>,
}

impl Tight {
    /// Returns the middle of the numbers c with which exact sums give all results. `None` if there are none.
    fn middle(&self, scales: [f32; 2]) -> Option<f64> {
        let scales = scales.map(f64::from);
        let low = self.below.iter().map(|pair| pair.missing(scales)).fold(f64::NEG_INFINITY, f64::max);
        let high = self.above.iter().map(|pair| pair.missing(scales) + 1.0).fold(f64::INFINITY, f64::min);
        (low < high && low.is_finite() && high.is_finite()).then_some((low + high) / 2.0)
    }
}

impl<'a> Table<'a> {
    fn new(sum: &SumOfTwo, outer: &'a Term, inner: &'a Term, Interval { low, high }: Interval) -> Self {
        let result = |sum_of_both: i32| {
            let exact = i64::from(requantize(sum.rule, sum_of_both, sum.multiplier, sum.shift));
            (exact.clamp(low, high) - low) as u8
        };
        let pairs = inner.scaled.iter().flat_map(|&b| outer.scaled.iter().map(move |&a| a.wrapping_add(b)));
        let results = match thresholds(sum, (high - low) as u8, result) {
            Some(thresholds) => pairs.scan(0, |at, sum| Some(follow(&thresholds, at, sum))).collect(),
            None => pairs.map(result).collect(),
        };
        Self { outer, inner, results, top: high - low }
    }

    fn rows(&self) -> impl Iterator<Item = (i32, &[u8])> {
        self.inner.values().zip(self.results.chunks_exact(self.outer.scaled.len()))
    }

    /// Returns the pairs that may bound c, for `scales` and for scales that differ from them by at most `moved`. A pair is kept if these differences
    /// can make its bound the tightest.
    fn tight(&self, scales: [f64; 2], moved: [f64; 2]) -> Tight {
        let most = |term: &Term| term.values().map(|value| f64::from(value).abs()).fold(0.0, f64::max);
        let [a, b] = [most(self.outer), most(self.inner)];
        let magnitude = self.top as f64 + a * scales[0].abs() + b * scales[1].abs();
        let slack = 2.0 * (a * moved[0] + b * moved[1]) + magnitude * ROUNDED;
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        self.missing(scales, |_, result, missing| {
            // Results at the ends have no bound on their outer side: a clamp follows.
            low = if result > 0 && missing > low { missing } else { low };
            high = if result < self.top && missing < high { missing } else { high };
        });
        let mut tight = Tight::default();
        self.missing(scales, |[a, b], result, missing| {
            let pair = Pair { a, b, result: result as f64 };
            // NaN is not far away. It is kept, and later comparisons reject it.
            let (far_below, far_above) = (missing < low - slack, missing > high + slack);
            if result > 0 && !far_below {
                tight.below.push(pair);
            }
            if result < self.top && !far_above {
                tight.above.push(pair);
            }
        });
        tight
    }

    /// Visits all pairs, with their results and the differences between these and the exact sums.
    fn missing(&self, [outer, inner]: [f64; 2], mut visit: impl FnMut([f64; 2], i64, f64)) {
        for (b, row) in self.rows() {
            let b = f64::from(b);
            for (a, &result) in self.outer.values().zip(row) {
                let (a, result) = (f64::from(a), i64::from(result));
                visit([a, b], result, result as f64 - (a * outer + b * inner));
            }
        }
    }

    fn is_met(&self, fit: &Floats, precision: Precision) -> bool {
        self.rows().all(|(b, row)| {
            let inner = fit.inner(b, precision);
            self.outer.values().zip(row).all(|(a, &result)| fit.outer(a, inner, precision).clamp(0, self.top) == i64::from(result))
        })
    }
}

/// Returns the least sum of each result above the least. `None` unless results never fall as sums grow, which needs a multiplier that is not negative
/// and no left shift. A result that no sum has is placed after the greatest sum.
fn thresholds(sum: &SumOfTwo, top: u8, result: impl Fn(i32) -> u8) -> Option<Vec<i64>> {
    let never_falls = sum.multiplier >= 0 && sum.shift <= 0;
    never_falls.then(|| {
        let least = |wanted: u8| {
            let (mut low, mut high) = (i64::from(i32::MIN), i64::from(i32::MAX) + 1);
            while low < high {
                let middle = (low + high).div_euclid(2);
                if result(middle as i32) >= wanted { high = middle } else { low = middle + 1 }
            }
            low
        };
        (1..=top).map(least).collect()
    })
}

/// Returns the result of a sum. The search begins at the result of the sum before, since neighbours in a row have nearly equal results.
fn follow(thresholds: &[i64], at: &mut usize, sum: i32) -> u8 {
    let sum = i64::from(sum);
    while *at < thresholds.len() && sum >= thresholds[*at] {
        *at += 1;
    }
    while *at > 0 && sum < thresholds[*at - 1] {
        *at -= 1;
    }
    *at as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_those_of_the_rule() {
        for (rule, multiplier, shift) in [
            (RequantizeRule::TfliteDouble, 1_098_017_566, -17),
            (RequantizeRule::TfliteSingle, 1 << 30, -20),
            (RequantizeRule::TfliteDouble, 0, -3),
            (RequantizeRule::TfliteDouble, 1 << 30, 1),
        ] {
            let mut falling = term(4, 1_500_000_000, -1);
            falling.scaled.iter_mut().for_each(|value| *value = value.wrapping_neg());
            let sum = SumOfTwo { terms: [term(-20, 1_623_821_475, -2), falling], rule, multiplier, shift };
            for (low, high) in [(0, 255), (-100, 20)] {
                let table = Table::new(&sum, &sum.terms[0], &sum.terms[1], Interval { low, high });
                let pairs = sum.terms[1].scaled.iter().flat_map(|&b| sum.terms[0].scaled.iter().map(move |&a| a.wrapping_add(b)));
                for (pair, &found) in pairs.zip(&table.results) {
                    let wanted = i64::from(requantize(rule, pair, multiplier, shift)).clamp(low, high);
                    assert_eq!(i64::from(found) + low, wanted, "{rule:?} {multiplier} {shift}: {pair}");
                }
            }
        }
    }

    fn term(zero_point: i32, multiplier: i32, shift: i32) -> Term {
        let scaled = |value: i32| requantize(RequantizeRule::TfliteDouble, (value - zero_point) << 20, multiplier, shift);
        Term { node: Node::new(0), least: -128, scaled: (-128..128).map(scaled).collect() }
    }

    /// Tests the additions of a residual network (resnet8 of MLPerf Tiny), and the subtraction of the same numbers.
    #[test]
    fn numbers_are_found_that_give_all_results() {
        for sign in [1, -1] {
            let mut second = term(4, 1 << 30, 0);
            second.scaled.iter_mut().for_each(|value| *value *= sign);
            let terms = [term(-128, 1_623_821_475, -2), second];
            let sum = SumOfTwo { terms, rule: RequantizeRule::TfliteDouble, multiplier: 1_098_017_566, shift: -17 };
            for (precision, results) in
                [(Precision::Nearest, Interval { low: 0, high: 255 }), (Precision::TowardZero, Interval { low: -100, high: 155 })]
            {
                let Some(Fit::Floats(fit)) = sum.fit(results, precision) else { panic!("scales of a model") };
                let [outer, inner] = if fit.swapped { [1, 0] } else { [0, 1] }.map(|i: usize| &sum.terms[i]);
                for (b, &scaled_b) in inner.values().zip(&inner.scaled) {
                    for (a, &scaled_a) in outer.values().zip(&outer.scaled) {
                        let expected = requantize(sum.rule, scaled_a + scaled_b, sum.multiplier, sum.shift);
                        let found = fit.outer(a, fit.inner(b, precision), precision) + i64::from(fit.least);
                        assert_eq!(
                            found.clamp(results.low, results.high),
                            i64::from(expected).clamp(results.low, results.high),
                            "{a} and {b}"
                        );
                    }
                }
            }
        }
    }

    /// Tests for many scales that the bounds of c are the bounds from all pairs.
    #[test]
    fn tight_pairs_bound_as_all_do() {
        let mut found = 0;
        for case in 0..40 {
            let terms = [
                term(case - 20, 1_623_821_475 - 9_000_001 * case, -2),
                term(3 * case - 60, (1 << 30) + 77_777_777 * (case % 13), -(case % 4)),
            ];
            let sum = SumOfTwo { terms, rule: RequantizeRule::TfliteDouble, multiplier: 1_098_017_566 + 1_234_567 * case, shift: -17 };
            let table = Table::new(&sum, &sum.terms[0], &sum.terms[1], Interval { low: -100, high: 155 - i64::from(case) });
            let nearest = [0, 1].map(|i: usize| (sum.terms[i].slope() * sum.scale()) as f32);
            let moved = nearest.map(|scale| (0..NEIGHBOURS).map(|n| f64::from((beside(scale, n) - scale).abs())).fold(0.0, f64::max));
            let tight = table.tight(nearest.map(f64::from), moved);
            for number in 0..NEIGHBOURS * NEIGHBOURS {
                let scales = [beside(nearest[0], number % NEIGHBOURS), beside(nearest[1], number / NEIGHBOURS)];
                let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
                table.missing(scales.map(f64::from), |_, result, missing| {
                    low = if result > 0 { low.max(missing) } else { low };
                    high = if result < table.top { high.min(missing + 1.0) } else { high };
                });
                let wanted = (low < high).then_some((low + high) / 2.0);
                assert_eq!(tight.middle(scales), wanted, "{case} {number}");
                found += usize::from(wanted.is_some());
            }
            assert!(tight.below.len() + tight.above.len() < 10_000, "most pairs are not tight");
        }
        assert!(found > 20, "{found} have numbers c");
    }

    /// Tests scales of two operands that differ by little: a subtraction, and an addition whose result has half of their scale.
    #[test]
    fn integers_are_found_where_floats_are_not() {
        for (sign, multiplier, shift) in [(-1, 1_074_999_088, -19), (1, 1_074_999_088, -19), (1, 1_074_999_088, -20)] {
            let mut second = term(-1, 2_144_018_359, -1);
            second.scaled.iter_mut().for_each(|value| *value *= sign);
            let sum = SumOfTwo { terms: [term(0, 1 << 30, 0), second], rule: RequantizeRule::TfliteDouble, multiplier, shift };
            for results in [Interval { low: -128, high: 127 }, Interval { low: -100, high: 27 }] {
                let fit = sum.integers(results).and_then(|fit| fit.plus(7)).expect("numbers");
                let [first, second, c, shift] = fit.numbers();
                for (b, &scaled_b) in sum.terms[1].values().zip(&sum.terms[1].scaled) {
                    for (a, &scaled_a) in sum.terms[0].values().zip(&sum.terms[0].scaled) {
                        let expected = i64::from(requantize(sum.rule, scaled_a + scaled_b, multiplier, sum.shift));
                        let found = a.wrapping_mul(first).wrapping_add(b.wrapping_mul(second)).wrapping_add(c) >> shift;
                        assert_eq!(
                            (i64::from(found) - 7).clamp(results.low, results.high),
                            expected.clamp(results.low, results.high),
                            "{a} and {b}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn more_results_than_a_byte_has_are_not_fitted() {
        let terms = [term(0, 1 << 30, 0), term(0, 1 << 30, 0)];
        let sum = SumOfTwo { terms, rule: RequantizeRule::TfliteDouble, multiplier: 1 << 30, shift: -16 };
        assert_eq!(sum.fit(Interval { low: -1000, high: 1000 }, Precision::Nearest), None);
        assert_eq!(sum.fit(Interval::exactly(5), Precision::Nearest), None);
    }
}
