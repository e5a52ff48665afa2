//! Places that move per round by products of run-time extents, such as rows of a tensor whose row length is an extent.
//!
//! Such a place is a number with two digits: whole strides, and a remainder that is less than a stride in all rounds. Two places are equal if both
//! digits are equal. So accesses meet only if they meet in each digit. A digit may contain a smaller stride again.

use super::accesses::{Access, Counted, Loops};
use super::polynomial::{Monomial, Polynomial, quotient};
use crate::{BinaryOp, Value};

/// A stride: a product of extents times a constant.
#[derive(Clone, PartialEq, Eq)]
struct Stride {
    monomial: Monomial,
    factor: i128,
}

impl Loops<'_> {
    /// Splits two accesses into digits, with the largest stride for which this is possible. Returns the pair of high digits and the pair of low
    /// digits.
    pub fn digits(&self, a: &Access, b: &Access) -> Option<[[Access; 2]; 2]> {
        let mut strides: Vec<Stride> = Vec::new();
        for (_, monomial, factor) in a.scaled.iter().chain(&b.scaled) {
            let stride = Stride { monomial: monomial.clone(), factor: factor.abs() };
            if !strides.contains(&stride) {
                strides.push(stride);
            }
        }
        strides.sort_by_key(|stride| std::cmp::Reverse((stride.monomial.len(), stride.factor)));
        strides.iter().find_map(|stride| {
            let [(high, low), (other_high, other_low)] = [self.split(a, stride)?, self.split(b, stride)?];
            Some([[high, other_high], [low, other_low]])
        })
    }

    /// Splits an access into its high digit, in strides, and its low digit. Returns `None` if the low digit may exceed a stride.
    fn split(&self, access: &Access, Stride { monomial, factor }: &Stride) -> Option<(Access, Access)> {
        let digit = |of: &Monomial, times: i128| quotient(of, monomial).filter(|_| times % factor == 0).map(|left| (left, times / factor));
        let none = |list: &[(Value, i128)]| list.iter().map(|&(counter, _)| (counter, 0)).collect();
        let mut high =
            Access { low: 0, high: 1, growth: none(&access.growth), fixed: vec![], others: vec![], scaled: vec![], ..access.clone() };
        let mut low = Access { fixed: vec![], scaled: vec![], ..access.clone() };
        for (of, times) in &access.fixed {
            match digit(of, *times) {
                Some((left, times)) if left.is_empty() => (high.low, high.high) = (high.low + times, high.high + times),
                Some(fixed) => high.fixed.push(fixed),
                None => low.fixed.push((of.clone(), *times)),
            }
        }
        for (counter, of, times) in &access.scaled {
            match digit(of, *times) {
                Some((left, times)) if left.is_empty() => {
                    high.growth.iter_mut().filter(|known| known.0 == *counter).for_each(|known| known.1 += times)
                }
                Some((left, times)) => high.scaled.push((*counter, left, times)),
                None => low.scaled.push((*counter, of.clone(), *times)),
            }
        }
        self.is_below(&low, monomial, *factor).then_some((high, low))
    }

    /// Tests whether an access stays between 0 and a stride in all rounds.
    fn is_below(&self, access: &Access, monomial: &Monomial, factor: i128) -> bool {
        let mut stride = Polynomial::default();
        stride.add(monomial.clone(), factor);
        let grows = access.low >= 0 && access.fixed.iter().all(|(_, times)| *times >= 0);
        let begins = grows && access.others.iter().all(|&(value, times)| times >= 0 && self.interval(value)[0] >= 0);
        begins && self.ends(access).iter().any(|end| self.is_at_most(end, &stride))
    }

    /// Tests whether an access ends before another one begins, in all rounds of both.
    pub fn is_before(&self, a: &Access, b: &Access) -> bool {
        let mut start = Polynomial::number(b.low);
        b.fixed.iter().for_each(|(of, times)| start.add(of.clone(), *times));
        let grows = b.others.is_empty() && b.growth.iter().all(|known| known.1 >= 0) && b.scaled.iter().all(|known| known.2 >= 0);
        grows && self.ends(a).iter().any(|end| self.is_at_most(end, &start))
    }

    /// Returns upper bounds of an access's end. If a loop ends at a multiple, one bound uses this end, the other the value that was rounded down. A
    /// bound is left out if the access moves down with rounds.
    fn ends(&self, access: &Access) -> Vec<Polynomial> {
        [false, true].into_iter().filter_map(|is_whole| self.end(access, is_whole)).collect()
    }

    fn end(&self, access: &Access, is_whole: bool) -> Option<Polynomial> {
        let mut end = Polynomial::number(access.high);
        access.fixed.iter().for_each(|(of, times)| end.add(of.clone(), *times));
        for &(value, times) in &access.others {
            end.add(vec![], (times >= 0).then(|| times * self.interval(value)[1])?);
        }
        let of_number = access.growth.iter().filter(|known| known.1 != 0).map(|&(counter, times)| (counter, vec![], times));
        for (counter, of, times) in of_number.chain(access.scaled.iter().cloned()) {
            let counted = self.counted(counter)?;
            let step = i128::from(counted.step);
            let grows = times >= 0 && times % step == 0;
            end.add_times(&grows.then(|| self.beyond_first(counted, is_whole))?, &of, times / step);
        }
        Some(end)
    }

    fn is_at_most(&self, a: &Polynomial, b: &Polynomial) -> bool {
        let mut left = b.clone();
        left.add_times(a, &vec![], -1);
        self.is_natural(&left)
    }

    /// Returns the maximum of a counter relative to its initial value. With `is_whole`, an end that was rounded down to a multiple is used itself.
    fn beyond_first(&self, counted: &Counted, is_whole: bool) -> Polynomial {
        let Some(end) = counted.end else { return Polynomial::number(i128::from(counted.rounds - 1) * i128::from(counted.step)) };
        let starts_at_0 = counted.first.as_number() == Some(0);
        // A loop of whole steps that ends at a multiple has its last round one step before the end.
        let multiple = self.multiple_below(end).filter(|(_, unit)| starts_at_0 && unit % counted.step == 0);
        let short = if multiple.is_some() { counted.step } else { 1 };
        let end = multiple.filter(|_| !is_whole).map_or(end, |(all, _)| all);
        let mut beyond = self.polynomial(&self.sum(end));
        beyond.add_times(&self.polynomial(&counted.first), &vec![], -1);
        beyond.add(vec![], -i128::from(short));
        beyond
    }

    /// Tests whether a polynomial is never negative. Each value is written as its minimum plus a non-negative rest; then no factor may be negative.
    fn is_natural(&self, polynomial: &Polynomial) -> bool {
        let mut shifted = Polynomial::default();
        for (monomial, factor) in polynomial.terms() {
            let mut all = Polynomial::number(*factor);
            for &value in monomial {
                let least = self.interval(value)[0];
                if least < 0 {
                    return false;
                }
                let mut next = Polynomial::default();
                next.add_times(&all, &vec![value], 1);
                next.add_times(&all, &vec![], least);
                all = next;
            }
            shifted.add_times(&all, &vec![], 1);
        }
        shifted.terms().iter().all(|&(_, factor)| factor >= 0)
    }

    /// Recognizes a value that is another value rounded down to a multiple. Returns the other value and the unit.
    pub fn multiple_below(&self, value: Value) -> Option<(Value, i64)> {
        let unit = |value: Value| self.number(value).filter(|&unit| unit > 0);
        let (all, unit) = match self.binary(value)? {
            (BinaryOp::And, a, b) => {
                let unit = self.number(b)?.checked_neg()?;
                (a, (unit > 0 && unit & (unit - 1) == 0).then_some(unit)?)
            }
            (BinaryOp::Sub, a, b) => match self.binary(b)? {
                (BinaryOp::UnsignedRem | BinaryOp::SignedRem, of, by) if a == of => (a, unit(by)?),
                _ => return None,
            },
            (BinaryOp::Mul, a, b) => match self.binary(a)? {
                (BinaryOp::UnsignedDiv | BinaryOp::SignedDiv, of, by) if self.number(b) == unit(by) => (of, unit(by)?),
                _ => return None,
            },
            _ => return None,
        };
        (self.interval(all)[0] >= 0).then_some((all, unit))
    }
}
