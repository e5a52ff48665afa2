//! Search for the cheapest sequence that has the rule's thresholds in every channel.

use super::float::float_channel;
use super::numbers::MOST_EXACT;
use super::product::product_channel;
use super::rounded::rounded_channel;
use super::sequence::{Precision, Requantizer};
use super::signed::Form;
use super::stairs::{Channel, Problem, Rule, Scale, Stairs};
use crate::ir::{Interval, RequantizeRule};
use crate::parallel::Memo;
use std::sync::Arc;

/// Maximum number of results that are proven one by one.
const MOST_RESULTS: i64 = 1 << 10;
/// Maximum shift. Thresholds that sums reach then fit 64 bits.
const MOST_SHIFT: u32 = 31;

/// A sequence and its parameters.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Sequence of instructions.
    pub requantizer: Requantizer,
    /// Tables in the order of the operands, each with one number for each channel.
    pub tables: Vec<Vec<i32>>,
    /// Numbers that are added to the sums of each channel before the sequence. All are zero if it needs none.
    pub offsets: Vec<i32>,
}

/// Memo of searches. A layer's schedule is made again for each plan that is tried and for each CPU level.
#[derive(Default)]
pub struct Solved {
    known: Memo<(Problem, Vec<Scale>), Option<Arc<Solution>>>,
}

impl Solved {
    /// Returns the result of [`solve`], which runs once for each problem.
    pub fn solve(&self, problem: Problem, scales: Vec<Scale>) -> Option<Arc<Solution>> {
        let key = (problem, scales);
        self.known.get(&key, || solve(&key.0, &key.1).map(Arc::new))
    }
}

/// Finds the cheapest sequence that gives the rule's results in every channel.
fn solve(problem: &Problem, scales: &[Scale]) -> Option<Solution> {
    let Interval { low, high } = problem.results;
    let fits = |scale: &Scale| (scale.multiplier == 0 || (1 << 29..1 << 31).contains(&scale.multiplier)) && scale.shift <= MOST_SHIFT;
    let steps = steps(problem, scales);
    if high <= low || high - low > MOST_RESULTS || low.abs().max(high.abs()) > MOST_RESULTS || !scales.iter().all(fits) {
        return steps;
    }
    let Some(stairs) = scales.iter().map(|scale| Stairs::new(problem, *scale)).collect::<Option<Vec<Stairs>>>() else { return steps };
    if problem.integers {
        return Form::of(&stairs, problem.unshifted).into_iter().find_map(|form| of_integers(form, &stairs));
    }
    let float = |precision| Requantizer::Float { signed: low < 0, precision };
    let is_exact = |stairs: &Stairs| stairs.constant().is_some() || stairs.scale.sums.low.abs().max(stairs.scale.sums.high) <= MOST_EXACT;
    let toward_zero = problem.toward_zero && stairs.iter().all(is_exact);
    let toward_zero = [Precision::TowardZero, Precision::TowardZeroTwice].map(float).into_iter().filter(|_| toward_zero);
    let products = [false, true].map(|signed| Requantizer::HighProduct { signed });
    // The pivot of a product corrects the rounding of fixed-point rules, so other rules have no such products.
    let products = products.into_iter().filter(|_| matches!(problem.rule, Rule::FixedPoint(_)));
    let rounded = problem.narrows.then_some(Requantizer::Rounded);
    // Floats are not tried for a rule of binary32, whose own sequence is as short.
    let floats = [float(Precision::Nearest)].into_iter().chain(toward_zero).filter(|_| problem.rule != Rule::Binary32);
    let search = |requantizer| {
        let channels: Vec<Channel> = match requantizer {
            Requantizer::Rounded => stairs.iter().map(rounded_channel).collect(),
            Requantizer::Float { precision, .. } => {
                let least: Vec<f64> = (low + 1..=high).map(|result| precision.least(result)).collect();
                let least_of = |stairs: &Stairs| &least[(stairs.first - low - 1) as usize..][..stairs.sums.len()];
                stairs.iter().map(|stairs| float_channel(stairs, least_of(stairs), precision)).collect::<Option<_>>()
            }
            Requantizer::HighProduct { signed } => stairs.iter().map(|stairs| product_channel(stairs, signed)).collect(),
            // Three sequences are of two integers, and one is only the rule itself.
            Requantizer::SumOfTwo { .. } | Requantizer::IntegersOfTwo | Requantizer::ProductOfTwo(_) | Requantizer::RoundedProduct => None,
            Requantizer::LowProduct { .. } | Requantizer::HighSigned { .. } | Requantizer::Steps { .. } => None,
        }?;
        Some(Solution::of(requantizer, &channels))
    };
    rounded.and_then(search).or(steps).or_else(|| floats.chain(products).find_map(search))
}

/// Returns the rule's own steps, if the machine has them. Ties of negative results are moved by one, which a channel without a division must not be.
fn steps(problem: &Problem, scales: &[Scale]) -> Option<Solution> {
    let signed = problem.results.low < 0;
    let fits = |scale: &Scale| (0..1 << 31).contains(&scale.multiplier) && (u32::from(signed)..=MOST_SHIFT).contains(&scale.shift);
    if !problem.steps || problem.rule != Rule::FixedPoint(RequantizeRule::TfliteDouble) || !scales.iter().all(fits) {
        return None;
    }
    let channel = |scale: &Scale| Channel { numbers: vec![scale.multiplier as i32, -(scale.shift as i32)], offset: 0 };
    Some(Solution::of(Requantizer::Steps { signed }, &scales.iter().map(channel).collect::<Vec<_>>()))
}

/// Returns a sequence of signed integers, if all channels have parameters.
fn of_integers(form: Form, stairs: &[Stairs]) -> Option<Solution> {
    let channels: Vec<Channel> = stairs.iter().map(|stairs| form.channel(stairs)).collect::<Option<_>>()?;
    let shift = form.shift as u8;
    let requantizer = if form.places == 0 { Requantizer::LowProduct { shift } } else { Requantizer::HighSigned { shift } };
    Some(Solution::of(requantizer, &channels))
}

impl Solution {
    fn of(requantizer: Requantizer, channels: &[Channel]) -> Self {
        let tables = (0..channels[0].numbers.len()).map(|i| channels.iter().map(|channel| channel.numbers[i]).collect()).collect();
        Self { requantizer, tables, offsets: channels.iter().map(|channel| channel.offset).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::scalar::integer::{requantize, saturating_rounding_doubling_high_mul};
    use crate::kernel::interpret::fma_toward_zero;
    use crate::schedule::elementwise::requantize::Unshifted;
    use crate::schedule::elementwise::requantize::stairs::Floats;

    /// Computes a solution's result for a sum, by the definition of the sequence.
    fn computed(solution: &Solution, channel: usize, sum: i64) -> i64 {
        let number = |table: usize| solution.tables[table][channel];
        match solution.requantizer {
            Requantizer::Rounded => {
                let [scale, c] = [0, 1].map(|table| f32::from_bits(number(table) as u32));
                let sum = sum + i64::from(solution.offsets[channel]);
                assert!(scale == 0.0 || sum as f32 as i64 == sum, "sums are exact");
                let bits = (sum as f32).mul_add(scale, c).to_bits();
                let whole = i64::from(bits as i32) - i64::from(crate::schedule::elementwise::requantize::numbers::ONES.to_bits());
                assert_eq!(whole, i64::from(bits as i16), "results have 16 bits");
                whole
            }
            Requantizer::Steps { signed } => {
                let product = i64::from(saturating_rounding_doubling_high_mul(sum as i32, number(0)));
                let product = if signed && product < 0 { product - 1 } else { product };
                match -number(1) {
                    0 => product,
                    count => (product + (1 << (count - 1))) >> count,
                }
            }
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
            Requantizer::SumOfTwo { .. } | Requantizer::IntegersOfTwo | Requantizer::ProductOfTwo(_) | Requantizer::RoundedProduct => {
                unreachable!("no solution of a search")
            }
            Requantizer::LowProduct { shift } => (sum * i64::from(number(0)) + i64::from(number(1))) >> shift,
            Requantizer::HighSigned { shift } => {
                let sum = sum + i64::from(solution.offsets[channel]);
                assert!(i32::try_from(sum).is_ok(), "sums have 32 bits");
                (((sum * i64::from(number(0))) >> 32) + i64::from(number(1))) >> shift
            }
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

    /// Returns another place for results without a shift from case to case.
    fn unshifted(case: usize) -> Option<Unshifted> {
        [None, Some(Unshifted::AfterLow), Some(Unshifted::First)][case / 8 % 3]
    }

    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % n
        }
    }

    /// Returns scales of one to three channels, and the bound of most of their sums.
    fn random_scales(numbers: &mut Numbers, case: u32) -> (Vec<Scale>, i64) {
        let shift = numbers.below(14) as u32;
        let special = [0, 1 << 30, (1 << 31) - 1, 3 << 29];
        let mut multiplier = || match numbers.below(12) {
            n @ 0..4 => special[n as usize],
            _ => (1 << 30) + numbers.below(1 << 30) as i64,
        };
        let bound = 1 << (8 + shift + case % 4);
        let mut scales: Vec<Scale> = (0..1 + case % 3)
            .map(|_| Scale { multiplier: multiplier(), shift, sums: Interval::new(-bound, bound), floats: Floats::default() })
            .collect();
        if case.is_multiple_of(5) {
            // This channel is dead or nearly so: it has a tiny scale, and perhaps a huge bias.
            scales[0].shift += 1 + case / 5 % 17;
            let bias = [0, 1 << 30, -(1 << 30), 3 << 20][(case / 5 % 4) as usize];
            scales[0].sums = Interval::new(bias - bound, bias + bound);
        }
        (scales, bound)
    }

    #[test]
    fn solutions_give_the_results_of_the_rule() {
        let mut numbers = Numbers(1);
        let mut used = [0; 8];
        for case in 0..3200 {
            let integers = case >= 1600;
            let rule = if case % 4 == 3 { RequantizeRule::TfliteSingle } else { RequantizeRule::TfliteDouble };
            let (scales, bound) = random_scales(&mut numbers, case);
            // Products of integers fit double rounding only for results of one sign.
            let one_sign = integers && rule == RequantizeRule::TfliteDouble;
            let low = if one_sign { 0 } else { -(numbers.below(256) as i64) };
            let (toward_zero, narrows, steps, unshifted) = (case % 2 == 0, case % 8 < 2, case % 16 == 5, unshifted(case as usize));
            let problem = Problem {
                rule: Rule::FixedPoint(rule),
                results: Interval::new(low, low + 255),
                toward_zero,
                narrows,
                integers,
                unshifted,
                steps,
            };
            let Some(solution) = solve(&problem, &scales) else { continue };
            used[match solution.requantizer {
                Requantizer::Float { precision: Precision::Nearest, .. } => 0,
                Requantizer::Float { precision: Precision::TowardZero, .. } => 1,
                Requantizer::Float { precision: Precision::TowardZeroTwice, .. } => 2,
                Requantizer::HighProduct { .. } => 3,
                Requantizer::Rounded => 4,
                Requantizer::LowProduct { .. } => 5,
                Requantizer::HighSigned { .. } => 6,
                Requantizer::Steps { .. } => 7,
                Requantizer::SumOfTwo { .. } | Requantizer::IntegersOfTwo | Requantizer::ProductOfTwo(_) | Requantizer::RoundedProduct => {
                    unreachable!("no solution of a search")
                }
            }] += 1;
            for (channel, scale) in scales.iter().enumerate() {
                let Interval { low: first, high: last } = scale.sums;
                let random = (0..2000).map(|_| first + numbers.below(2 * bound as u64) as i64).collect::<Vec<_>>();
                let unit = 1i64 << scale.shift;
                let ties = (-300..300).flat_map(|i| (-3..4).map(move |d| i * unit + unit / 2 + d));
                let sides = Stairs::new(&problem, *scale).into_iter().flat_map(|stairs| stairs.sums).flat_map(|sum| [sum - 1, sum]);
                let sums = random.into_iter().chain(ties).chain(sides).chain([first, last, 0, 1, -1]);
                for sum in sums.filter(|sum| (first..=last).contains(sum)) {
                    let wanted = i64::from(requantize(rule, sum as i32, scale.multiplier as i32, -(scale.shift as i32)));
                    let clamp = |n: i64| n.clamp(problem.results.low, problem.results.high);
                    let found = computed(&solution, channel, sum);
                    assert_eq!(clamp(found), clamp(wanted), "{problem:?} {scale:?} {:?} of {sum}", solution.requantizer);
                }
            }
        }
        // Nearly all cases have a solution, and every sequence is used. Products of integers do not fit factors from one half on.
        assert!(used.iter().all(|&n| n > 10), "{used:?}");
        assert!(used[..5].iter().sum::<i32>() > 1400 && used[5..7].iter().sum::<i32>() > 1000 && used[7] > 50, "{used:?}");
    }

    #[test]
    fn factors_of_binary64_have_solutions() {
        let mut numbers = Numbers(2);
        // The first factors meet ties, exactly or nearly.
        let special = [0.25, 0.125, 1.5 / 64.0, 0.25f64.next_down(), 0.125f64.next_up(), 0.002_979_507_770_665_836];
        let random = (0..60).map(|_| (1.0 + numbers.below(1 << 30) as f64 / 1e9) / f64::from(1 << (2 + numbers.below(8))));
        let mut solved = [0; 2];
        for (case, factor) in special.into_iter().chain(random.collect::<Vec<_>>()).enumerate() {
            let scale = Scale::of_double(factor, Interval::new(-150_000, 150_000)).unwrap();
            let low = [0, -128, -255][case % 3];
            let (results, toward_zero, narrows) = (Interval::new(low, low + 255), case % 2 == 0, case % 4 > 1);
            for integers in [false, true] {
                let problem =
                    Problem { rule: Rule::Binary64, results, toward_zero, narrows, integers, unshifted: unshifted(case), steps: true };
                let Some(solution) = solve(&problem, &[scale]) else { continue };
                solved[usize::from(integers)] += 1;
                for sum in scale.sums.low..=scale.sums.high {
                    let wanted = ((sum as f64 * factor).round() as i64).clamp(low, low + 255);
                    assert_eq!(computed(&solution, 0, sum).clamp(low, low + 255), wanted, "{factor} of {sum}, {solution:?}");
                }
            }
        }
        assert!(solved.iter().all(|&n| n > 55), "{solved:?}");
    }

    #[test]
    fn factors_of_binary32_have_solutions() {
        let mut numbers = Numbers(3);
        // The first factors meet ties.
        let special = [0.25f32, 0.125, 1.5 / 64.0, 0.25f32.next_down(), 0.125f32.next_up()];
        let random = (0..120).map(|_| (1.0 + numbers.below(1 << 30) as f32 / 1e9) / (1 << (2 + numbers.below(8))) as f32);
        let factors: Vec<f32> = special.into_iter().chain(random.collect::<Vec<_>>()).collect();
        let (mut solved, mut of_integers) = ([0; 2], 0);
        for (case, &factor) in factors.iter().enumerate() {
            let with_bias = case % 2;
            let outer = if with_bias == 1 { 23.274_658 } else { 1.0 };
            let added = if with_bias == 1 { numbers.below(1000) as f32 / 300.0 - 1.5 } else { 0.0 };
            let floats = [factor / outer, added, outer];
            let scale = Scale::of_floats(floats, Interval::new(-50_000, 50_000)).unwrap();
            let low = [0, -128, -255][case % 3];
            let problem = Problem {
                rule: Rule::Binary32,
                results: Interval::new(low, low + 255),
                toward_zero: true,
                narrows: true,
                integers: false,
                unshifted: unshifted(case),
                steps: false,
            };
            let products = solve(&Problem { integers: true, ..problem }, &[scale]);
            of_integers += usize::from(products.is_some());
            let rounded = solve(&problem, &[scale]);
            assert!(rounded.as_ref().is_none_or(|solution| solution.requantizer == Requantizer::Rounded));
            solved[with_bias] += usize::from(rounded.is_some());
            for solution in rounded.iter().chain(&products) {
                for sum in scale.sums.low..=scale.sums.high {
                    let wanted = (((sum as f32 * floats[0] + added) * outer).round_ties_even() as i64).clamp(low, low + 255);
                    assert_eq!(computed(solution, 0, sum).clamp(low, low + 255), wanted, "{floats:?} of {sum}, {solution:?}");
                }
            }
        }
        // Sums on both sides of zero may meet ties that have no common window.
        assert!(solved.iter().all(|&n| n > 50) && of_integers > 110, "{solved:?} {of_integers}");
    }

    #[test]
    fn what_cannot_be_proven_has_no_solution() {
        let scale = Scale { multiplier: 1 << 30, shift: 4, sums: Interval::new(-1000, 1000), floats: Floats::default() };
        let rule = Rule::FixedPoint(RequantizeRule::TfliteDouble);
        let problem = Problem {
            rule,
            results: Interval::new(-128, 127),
            toward_zero: true,
            narrows: true,
            integers: false,
            unshifted: None,
            steps: false,
        };
        assert!(solve(&problem, &[scale]).is_some());
        let products = Problem { integers: true, ..problem };
        assert!(solve(&products, &[Scale { multiplier: 1_326_970_308, ..scale }]).is_none(), "two signs, rounded twice");
        assert!(solve(&Problem { results: Interval::new(0, 127), ..products }, &[scale]).is_some());
        let steps = |shift, low| {
            let problem = Problem { results: Interval::new(low, 40_000), steps: true, ..problem };
            solve(&problem, &[Scale { shift, ..scale }]).map(|solution| solution.requantizer)
        };
        assert_eq!([steps(4, -40_000), steps(0, -40_000)], [Some(Requantizer::Steps { signed: true }), None], "no tie without a division");
        assert_eq!(steps(0, 0), Some(Requantizer::Steps { signed: false }));
        assert!(solve(&Problem { results: Interval::new(-40_000, 40_000), ..problem }, &[scale]).is_none());
        assert!(solve(&problem, &[Scale { sums: Interval::new(i32::MIN.into(), 1000), ..scale }]).is_none());
        assert!(solve(&problem, &[Scale { multiplier: -1, ..scale }]).is_none());
    }
}
