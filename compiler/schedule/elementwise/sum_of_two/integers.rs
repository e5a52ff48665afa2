//! Sums of two scaled bytes by products of integers, for cases in which no numbers of binary32 give all results.
//!
//! `(a · scale + b · scale + c) >> shift` rounds nothing before the shift. If two scales differ little, as for two operands of one range, the window
//! for c can be narrower than the last place of binary32.

use super::{Integers, Pair, SumOfTwo, Table};
use crate::ir::Interval;
use crate::ir::scalar::integer::requantize;

/// Maximum distance of scales that are tried from the nearest ones, in units of the last place. Most random pairs take the nearest; few take five.
const NEIGHBOURS: i64 = 16;

impl SumOfTwo {
    /// Finds integers that give the results of all pairs. Results up to the low end count as one, and so do results from the high end on.
    pub(super) fn integers(&self, results: Interval) -> Option<Integers> {
        let shift = shift(self)?;
        let unit = f64::from(1u32 << shift);
        let [first, second] = &self.terms;
        let slopes = [first, second].map(|term| term.slope() * self.scale());
        let table = Table::new(self, first, second, results);
        let tight = table.tight(slopes, [NEIGHBOURS as f64 / unit; 2]);
        let least = results.low << shift;
        around().find_map(|moves| {
            let scales = [0, 1].map(|i: usize| (slopes[i] * unit).round() as i64 + moves[i]);
            let missing = |pair: &Pair, more: i64| {
                least + ((pair.result as i64 + more) << shift) - (pair.a as i64 * scales[0] + pair.b as i64 * scales[1])
            };
            let low = tight.below.iter().map(|pair| missing(pair, 0)).max()?;
            let high = tight.above.iter().map(|pair| missing(pair, 1)).min()? - 1;
            if low > high {
                return None;
            }
            let c = low + (high - low) / 2;
            let extremes = |i: usize| {
                let [least, most] =
                    [self.terms[i].values().next(), self.terms[i].values().last()].map(|value| i64::from(value.unwrap_or(0)) * scales[i]);
                (least.min(most), least.max(most))
            };
            let (first, second) = (extremes(0), extremes(1));
            let sums = (first.0 + second.0 + c, first.1 + second.1 + c);
            let [scales, [c, _]] = [scales, [c, 0]].map(|numbers| numbers.map(|number| i32::try_from(number).ok()));
            let found = Integers { scales: [scales[0]?, scales[1]?], c: c?, shift, sums };
            // Sums must stay in 32 bits.
            found.plus(0).filter(|found| gives(found, &table, results))
        })
    }
}

/// Tests numbers on all pairs of a table. Results are clamped to the interval.
fn gives(numbers: &Integers, table: &Table<'_>, Interval { low, high }: Interval) -> bool {
    let [outer, inner] = numbers.scales.map(i64::from);
    table.rows().all(|(b, row)| {
        let inner = i64::from(b) * inner + i64::from(numbers.c);
        let result = |a: i32| ((i64::from(a) * outer + inner) >> numbers.shift).clamp(low, high) - low;
        table.outer.values().zip(row).all(|(a, &wanted)| result(a) == i64::from(wanted))
    })
}

/// Returns the largest shift with which the results of all pairs, and their neighbours, fit 32 bits.
fn shift(sum: &SumOfTwo) -> Option<u32> {
    let extremes = sum.terms.each_ref().map(|term| (term.scaled.iter().min(), term.scaled.iter().max()));
    let [(Some(&a), Some(&most_a)), (Some(&b), Some(&most_b))] = extremes else { return None };
    let result = |a: i32, b: i32| Some(i64::from(requantize(sum.rule, a.checked_add(b)?, sum.multiplier, sum.shift)));
    let most = result(a, b)?.abs().max(result(most_a, most_b)?.abs()) as u64 + 2;
    31u32.checked_sub(most.next_power_of_two().ilog2()).filter(|&shift| shift > 0)
}

/// Returns moves of two scales, the nearest first.
fn around() -> impl Iterator<Item = [i64; 2]> {
    let ring = |distance: i64| {
        let pairs = (-distance..=distance).flat_map(move |i| (-distance..=distance).map(move |j| [i, j]));
        pairs.filter(move |[i, j]| i.abs().max(j.abs()) == distance)
    };
    (0..=NEIGHBOURS).flat_map(ring)
}
