//! Facts about the extents of a method's inputs. Operators require them while the method is built, and they hold in every call. So the method is
//! built again with them, until no new ones are found.

use crate::ir::{Interval, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A dimension of an input of a method.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct InputExtent {
    /// The number of the input.
    pub input: usize,
    /// The dimension.
    pub dimension: usize,
}

/// The index of an input's dimension in the function that is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Measured {
    /// The extent.
    pub index: Value,
    /// The dimension.
    pub of: InputExtent,
}

/// An integer that a method reads from a tensor, by the front end's number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ReadInteger(pub usize);

/// The facts of a method that are known so far.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    intervals: BTreeMap<InputExtent, Interval>,
    multiples: BTreeMap<InputExtent, i64>,
    equal: BTreeSet<[InputExtent; 2]>,
    most_read: BTreeMap<ReadInteger, i64>,
    is_renewed: bool,
}

impl Facts {
    /// Begins the next round. Facts of former rounds stay.
    pub fn begin_again(&mut self) {
        self.is_renewed = false;
    }

    /// Tests whether a fact is new in this round.
    pub fn is_renewed(&self) -> bool {
        self.is_renewed
    }

    /// Notes the interval of an extent. Returns `true` if it is new.
    pub fn narrow(&mut self, extent: InputExtent, interval: Interval) -> bool {
        let is_new = self.intervals.insert(extent, interval) != Some(interval);
        self.renew(is_new)
    }

    /// Returns the interval of an extent, if one is known.
    pub fn interval(&self, extent: InputExtent) -> Option<Interval> {
        self.intervals.get(&extent).copied()
    }

    /// Notes a power of two that divides an extent. Returns `true` if it is new.
    pub fn divide(&mut self, extent: InputExtent, power: i64) -> bool {
        let known = self.multiples.entry(extent).or_insert(1);
        let is_new = power > *known;
        *known = power.max(*known);
        self.renew(is_new)
    }

    /// Returns the power of two that divides an extent, as known for it or for an extent that is equal to it.
    pub fn multiple(&self, extent: InputExtent) -> i64 {
        let known = |extent: InputExtent| self.multiples.get(&extent).copied().unwrap_or(1);
        let equal = self.equal.iter().filter(|pair| pair.contains(&extent)).flatten();
        equal.map(|&other| known(other)).fold(known(extent), i64::max)
    }

    /// Notes that two extents are equal. Returns `true` if this is new.
    pub fn equate(&mut self, pair: [InputExtent; 2]) -> bool {
        let is_new = self.equal.insert(pair);
        self.renew(is_new)
    }

    /// Returns the pairs of equal extents.
    pub fn equal(&self) -> impl Iterator<Item = [InputExtent; 2]> {
        self.equal.iter().copied()
    }

    /// Notes the maximum of an integer. Returns `true` if it is new.
    pub fn limit(&mut self, read: ReadInteger, most: i64) -> bool {
        let known = self.most_read.entry(read).or_insert(i64::MAX);
        let is_new = most < *known;
        *known = most.min(*known);
        self.renew(is_new)
    }

    /// Returns the maximum of an integer, as far as it is known.
    pub fn most(&self, read: ReadInteger) -> i64 {
        self.most_read.get(&read).copied().unwrap_or(i64::MAX)
    }

    fn renew(&mut self, is_new: bool) -> bool {
        self.is_renewed |= is_new;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_new_once_and_hold_for_equal_extents() {
        let [a, b] = [0, 1].map(|input| InputExtent { input, dimension: 2 });
        let mut facts = Facts::default();
        assert!(facts.divide(a, 4) && facts.is_renewed());
        facts.begin_again();
        assert!(!facts.divide(a, 2) && !facts.is_renewed());
        assert_eq!([a, b].map(|extent| facts.multiple(extent)), [4, 1]);
        assert!(facts.equate([a, b]) && !facts.equate([a, b]));
        assert_eq!([a, b].map(|extent| facts.multiple(extent)), [4, 4]);
        assert!(facts.narrow(b, Interval { low: 2, high: 8 }) && facts.narrow(b, Interval::exactly(8)));
        assert_eq!([a, b].map(|extent| facts.interval(extent)), [None, Some(Interval::exactly(8))]);
        assert!(facts.limit(ReadInteger(3), 9) && !facts.limit(ReadInteger(3), 10));
        assert_eq!([3, 4].map(|number| facts.most(ReadInteger(number))), [9, i64::MAX]);
    }
}
