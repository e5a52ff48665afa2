//! Places that grow with rounds by products of extents that are known when the kernel runs: rows of a tensor whose row is such an extent, say.
//!
//! Such a place is a number of two digits: whole strides, and what is left, which is less than a stride in all rounds. Two are equal where both
//! digits are, so whether accesses meet is asked of each digit alone. A digit may have such a stride inside again.

use super::super::super::types::{BinaryOp, Value};
use super::accesses::{Access, Counted, Loops};

/// Values that are multiplied, in order; none for 1.
pub type Monomial = Vec<Value>;

/// A sum of products, each once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Polynomial(Vec<(Monomial, i128)>);

impl Polynomial {
    /// A number.
    pub fn number(number: i128) -> Self {
        let mut sum = Self::default();
        sum.add(vec![], number);
        sum
    }

    /// Adds a product.
    pub fn add(&mut self, monomial: Monomial, factor: i128) {
        match self.0.iter_mut().find(|known| known.0 == monomial) {
            Some(known) => known.1 += factor,
            None => self.0.push((monomial, factor)),
        }
        self.0.retain(|known| known.1 != 0);
    }

    /// Adds another one times a product.
    pub fn add_times(&mut self, other: &Self, monomial: &Monomial, factor: i128) {
        other.0.iter().for_each(|(of_other, times)| self.add(product(of_other, monomial), times * factor));
    }

    /// Its products.
    pub fn terms(&self) -> &[(Monomial, i128)] {
        &self.0
    }
}

/// A product of two.
pub fn product(a: &Monomial, b: &Monomial) -> Monomial {
    let mut all = [&a[..], &b[..]].concat();
    all.sort_unstable();
    all
}

/// What is left of a product after another one, if that is a part of it.
fn quotient(monomial: &Monomial, by: &Monomial) -> Option<Monomial> {
    let mut left = monomial.clone();
    for value in by {
        left.remove(left.iter().position(|other| other == value)?);
    }
    Some(left)
}

/// A stride: a product of extents times a number.
#[derive(Clone, PartialEq, Eq)]
struct Stride {
    monomial: Monomial,
    factor: i128,
}

impl Loops<'_> {
    /// Both digits of two accesses for the largest stride for which they have some.
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

    /// The digits of an access.
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

    /// Whether an access reaches from 0 on to less than a stride, in all rounds.
    fn is_below(&self, access: &Access, monomial: &Monomial, factor: i128) -> bool {
        let mut room = Polynomial::default();
        room.add(monomial.clone(), factor);
        room.add(vec![], -access.high);
        let mut grows = access.low >= 0;
        for (of, times) in &access.fixed {
            grows &= *times >= 0;
            room.add(of.clone(), -times);
        }
        for &(value, times) in &access.others {
            let [first, last] = self.interval(value);
            grows &= times >= 0 && first >= 0;
            room.add(vec![], -times * last);
        }
        let of_number = access.growth.iter().filter(|known| known.1 != 0).map(|&(counter, times)| (counter, vec![], times));
        for (counter, of, times) in of_number.chain(access.scaled.iter().cloned()) {
            let Some(counted) = self.counted(counter) else { return false };
            let step = i128::from(counted.step);
            grows &= times >= 0 && times % step == 0;
            room.add_times(&self.beyond_first(counted), &of, -(times / step));
        }
        grows && self.is_natural(&room)
    }

    /// By how much a counter is more than its first number at most.
    fn beyond_first(&self, counted: &Counted) -> Polynomial {
        let Some(end) = counted.end else { return Polynomial::number(i128::from(counted.rounds - 1) * i128::from(counted.step)) };
        let starts_at_0 = counted.first.as_number() == Some(0);
        // Whole steps end at the last multiple, one step before the end.
        let (end, behind) = match self.multiple_below(end).filter(|_| starts_at_0) {
            Some((all, unit)) if unit % counted.step == 0 => (all, counted.step),
            Some((all, _)) => (all, 1),
            None => (end, 1),
        };
        let mut beyond = self.polynomial(&self.sum(end));
        beyond.add_times(&self.polynomial(&counted.first), &vec![], -1);
        beyond.add(vec![], -i128::from(behind));
        beyond
    }

    /// Whether a polynomial is never negative: with each value as what it is more than its least, no product is taken away.
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

    /// The value up to which another one is the last multiple of a unit, and the unit, if it is computed as that.
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
