//! Conditions on the inputs of a method under which extents are equal.

use super::Graph;
use super::facts::{Facts, Measured};
use super::forms::AtLeast;
use super::solving::{MOST_FOLLOWED, Ratio, cancelling, grows_with, is_limited, undone, value_at};
use super::sums::Vanishing;
use crate::ir::{Extent, Interval, Op, Value};

/// A search for conditions on the inputs' extents. They become facts of the method.
pub struct Narrowing<'a, 'm> {
    /// The method's own function.
    pub graph: &'a Graph<'m>,
    /// The extents of inputs that are known only at run time.
    pub inputs: &'a [Measured],
    /// The facts that are known so far.
    pub facts: &'a mut Facts,
}

impl Narrowing<'_, '_> {
    /// Notes the conditions under which two extents are equal. Returns `true` if one of them is new.
    pub fn equate(&mut self, a: Extent, b: Extent) -> bool {
        match (a, b) {
            _ if self.make_vanish(a, b) => true,
            (Extent::Value(x), Extent::Static(n)) | (Extent::Static(n), Extent::Value(x)) => {
                self.make_room(a, b) || i64::try_from(n).is_ok_and(|n| self.fix(x, n))
            }
            (Extent::Value(x), Extent::Value(y)) => {
                self.intersect(x, y) || self.make_room(a, b) || self.make_multiple(x, y) || self.make_cancel(x, y)
            }
            _ => false,
        }
    }

    /// Notes that the extent of an input is a number, or another's, if two extents are equal only there.
    fn make_vanish(&mut self, a: Extent, b: Extent) -> bool {
        match self.graph.equal_only_where(a, b) {
            Some(Vanishing::AtNumber(index, n)) => match self.measured(index) {
                Some(measured) if self.may_be(index, n) => self.facts.narrow(measured.of, Interval::exactly(n)),
                _ => false,
            },
            Some(Vanishing::AtIndex(x, y)) => self.intersect(x, y) || self.note_equal(x, y),
            None => false,
        }
    }

    /// Tests whether a number is in the interval of an index.
    fn may_be(&self, index: Value, n: i64) -> bool {
        let interval = self.graph.interval(Extent::Value(index));
        (interval.low..=interval.high).contains(&n)
    }

    /// Gives two inputs whose extents must be equal one common range. Returns `true` if it is new.
    pub fn intersect(&mut self, x: Value, y: Value) -> bool {
        let function = self.graph.function();
        let (a, b) = (function.interval(Extent::Value(x)), function.interval(Extent::Value(y)));
        let common = Interval { low: a.low.max(b.low), high: a.high.min(b.high) };
        let both = [x, y].map(|index| self.measured(index));
        let [Some(x), Some(y)] = both else { return false };
        common.low <= common.high && a != b && (self.facts.narrow(x.of, common) | self.facts.narrow(y.of, common))
    }

    /// Notes the minimum of inputs' extents from which two extents are equal. Below it they differ, since a difference would saturate.
    fn make_room(&mut self, a: Extent, b: Extent) -> bool {
        let mut noted = false;
        for at_least in self.graph.equal_where(a, b).unwrap_or_default() {
            match self.raise(at_least) {
                Some(is_new) => noted |= is_new,
                None => return false,
            }
        }
        noted
    }

    /// Notes that the extent of an input is a multiple of a power of two, if two indices that follow from it are then equal. They are only tried at
    /// numbers: the next translation has to prove it.
    fn make_multiple(&mut self, x: Value, y: Value) -> bool {
        const MOST_TRIED: usize = 1 << 10;
        let function = self.graph.function();
        let inputs = [x, y].map(|index| grows_with(function, index, Op::ExtentOf));
        let [Some(a), Some(b)] = inputs else { return false };
        let (&[input], true) = (&a[..], a == b) else { return false };
        let interval = function.interval(Extent::Value(input));
        let is_equal = |n: i64| {
            let mut left = MOST_FOLLOWED;
            let mut at = |index| value_at(function, index, (input, n), &mut left);
            at(x).is_some_and(|x| at(y) == Some(x))
        };
        // An extent of one multiple only would be a number.
        let mut powers = (1..i64::BITS - 2).map(|bits| 1i64 << bits).take_while(|power| interval.high / power >= 2);
        let found = powers.find(|&power| {
            let multiples = (1..=interval.high / power).map(|n| n * power).skip_while(|&n| n < interval.low);
            multiples.take(MOST_TRIED).all(is_equal)
        });
        match (found, self.measured(input)) {
            (Some(power), Some(measured)) => self.facts.divide(measured.of, power),
            _ => false,
        }
    }

    /// Notes that extents of inputs are equal, if two indices then are. An example is (b·s) ÷ t, the open size of a reshape, and b. With more than
    /// one pair of extents, extents of the same dimension are paired.
    fn make_cancel(&mut self, x: Value, y: Value) -> bool {
        let function = self.graph.function();
        let Some((mut left, mut right)) = Ratio::of(function, x).zip(Ratio::of(function, y)) else { return false };
        left.above.append(&mut right.below);
        right.above.append(&mut left.below);
        left.above.retain(|index| match right.above.iter().position(|other| other == index) {
            Some(common) => {
                right.above.swap_remove(common);
                false
            }
            None => true,
        });
        if left.above.len() != right.above.len() {
            return false;
        }
        if let (&[x], &[y]) = (&left.above[..], &right.above[..]) {
            return self.note_equal(x, y);
        }
        let mut pairs = Vec::new();
        for x in left.above {
            let dimension = |index| self.measured(index).map(|measured| (measured.of.dimension, self.graph.interval(Extent::Value(index))));
            let Some(y) = right.above.iter().position(|&y| dimension(x).is_some() && dimension(x) == dimension(y)) else { return false };
            pairs.push((x, right.above.swap_remove(y)));
        }
        pairs.into_iter().fold(false, |noted, (x, y)| self.note_equal(x, y) || noted)
    }

    /// Notes the minimum of an input's extent for which an index is at least a number. `None` if the index depends on others, too.
    fn raise(&mut self, AtLeast { index, low }: AtLeast) -> Option<bool> {
        let function = self.graph.function();
        let inputs = grows_with(function, index, Op::ExtentOf)?;
        let &[input] = &inputs[..] else { return None };
        let at = |n: i64| {
            let mut left = MOST_FOLLOWED;
            value_at(function, index, (input, n), &mut left)
        };
        let interval = function.interval(Extent::Value(input));
        let (mut below, mut enough) = (interval.low, interval.high);
        if at(enough)? < low {
            return None;
        }
        // The index grows with the extent.
        while below < enough {
            let middle = below + (enough - below) / 2;
            if at(middle)? < low { below = middle + 1 } else { enough = middle }
        }
        let measured = self.measured(input)?;
        Some(self.facts.narrow(measured.of, Interval { low: enough, high: interval.high }))
    }

    fn measured(&self, index: Value) -> Option<Measured> {
        self.inputs.iter().find(|measured| measured.index == index).copied()
    }

    /// Fixes an index to a number in every call. Returns `true` if something follows for the inputs.
    fn fix(&mut self, mut index: Value, mut n: i64) -> bool {
        loop {
            if !self.may_be(index, n) {
                return false;
            }
            if let Some(measured) = self.measured(index) {
                return self.facts.narrow(measured.of, Interval::exactly(n));
            }
            if self.graph.interval(Extent::Value(index)).high == n
                && let Some(inputs) = grows_with(self.graph.function(), index, Op::ExtentOf)
            {
                let raised = is_limited(self.graph.function(), index).then(|| self.raise(AtLeast { index, low: n }));
                return raised.flatten().unwrap_or_else(|| self.note_bounds(&inputs));
            }
            if let Some([x, y]) = cancelling(self.graph.function(), index, n) {
                return self.note_equal(x, y);
            }
            match undone(self.graph.function(), index, n) {
                Some((operand, number)) => (index, n) = (operand, number),
                None => return false,
            }
        }
    }

    /// Notes that two extents of inputs are always equal.
    fn note_equal(&mut self, x: Value, y: Value) -> bool {
        let (Some(x), Some(y)) = (self.measured(x), self.measured(y)) else { return false };
        self.facts.equate([x.of, y.of])
    }

    /// Notes that extents are always at their bounds.
    fn note_bounds(&mut self, inputs: &[Value]) -> bool {
        let mut noted = false;
        for &input in inputs {
            let high = self.graph.interval(Extent::Value(input)).high;
            noted |= self.measured(input).is_some_and(|measured| self.facts.narrow(measured.of, Interval::exactly(high)));
        }
        noted
    }
}
