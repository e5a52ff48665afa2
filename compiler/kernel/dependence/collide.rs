//! Test for whether two accesses can touch one element: a search for rounds of the loops around them in which they do.
//!
//! The place of an access is linear in rounds and in other values, all of them bounded. The search starts with the loop that moves the accesses most.
//! It tries the rounds for which the other loops can still close the distance, and continues with the next loop. Loops over tensors have few such
//! rounds, mostly one.

use super::super::types::Value;
use super::accesses::{Access, Loops};

/// The relation between the rounds of two accesses, for a loop around both.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// Any two rounds.
    Any,
    /// Equal rounds.
    Same,
    /// Two different rounds.
    Differ,
}

/// Maximum number of search steps. After these, two accesses are assumed to meet, or not to meet for certain.
const MOST_STEPS: u32 = 4096;

/// A variable of the search: `growth` times a number from `low` to `high`.
#[derive(Clone, Copy)]
struct Dimension {
    growth: i128,
    low: i128,
    high: i128,
    /// `true` if the number must not be 0.
    differs: bool,
}

impl Loops<'_> {
    /// Tests whether two accesses, at least one a store, can touch the same element. `rounds` gives the relation of rounds for each loop around both.
    pub fn meet(&self, a: &Access, b: &Access, rounds: impl Fn(Value) -> Rounds) -> bool {
        a.memory == b.memory && (a.stores || b.stores) && self.may_be_equal(a, b, &rounds, true)
    }

    /// Tests whether two accesses, at least one a store, touch the same element in some different rounds of the loop of `counter`. Their places are
    /// exact, and all loops around them have known rounds. `rounds` gives the relation of rounds for each loop around both.
    pub(super) fn certainly_meet(&self, a: &Access, b: &Access, counter: Value, rounds: impl Fn(Value) -> Rounds) -> bool {
        let growth = |access: &Access| access.growth.iter().find(|(other, _)| *other == counter).map(|(_, growth)| *growth);
        // The search forgets that rounds differ if they move the accesses by different distances.
        growth(a) == growth(b) && a.memory == b.memory && (a.stores || b.stores) && self.may_be_equal(a, b, &rounds, false)
    }

    /// Tests whether two accesses can touch the same place. `otherwise` is the answer of a search that is too long.
    fn may_be_equal(&self, a: &Access, b: &Access, rounds: &impl Fn(Value) -> Rounds, otherwise: bool) -> bool {
        let is_symbolic = |access: &Access| !access.fixed.is_empty() || !access.scaled.is_empty();
        if (is_symbolic(a) || is_symbolic(b)) && (self.is_before(a, b) || self.is_before(b, a)) {
            return false;
        }
        if !a.scaled.is_empty() || !b.scaled.is_empty() {
            return self.digits(a, b).is_none_or(|digits| digits.iter().all(|[a, b]| self.may_be_equal(a, b, rounds, otherwise)));
        }
        let mut dimensions = Vec::new();
        let mut add = |growth: i128, low: i128, high: i128, differs: bool| {
            let (low, high) = if growth < 0 { (-high, -low) } else { (low, high) };
            dimensions.push(Dimension { growth: growth.abs(), low, high, differs });
        };
        let last = |counter: Value| self.counted(counter).map_or(0, |counted| i128::from(counted.rounds.max(1) - 1));
        for &(counter, growth) in &a.growth {
            let of_b = b.growth.iter().find(|other| other.0 == counter).map(|other| other.1);
            let last = last(counter);
            match (of_b, rounds(counter)) {
                (None, _) => add(growth, 0, last, false),
                (Some(other), Rounds::Same) => add(growth - other, 0, last, false),
                (Some(other), kind) if other == growth => add(growth, -last, last, kind == Rounds::Differ),
                (Some(other), _) => {
                    add(growth, 0, last, false);
                    add(-other, 0, last, false);
                }
            }
        }
        for &(counter, growth) in b.growth.iter().filter(|(counter, _)| !a.growth.iter().any(|known| known.0 == *counter)) {
            add(-growth, 0, last(counter), false);
        }
        for &(value, factor) in &a.others {
            let [low, high] = self.interval(value);
            add(factor, low, high, false);
        }
        for &(value, factor) in &b.others {
            let [low, high] = self.interval(value);
            add(-factor, low, high, false);
        }
        // A variable that does not move the accesses is free. If it must differ but has only one round, nothing can meet.
        if dimensions.iter().any(|d| d.differs && d.low == 0 && d.high == 0) {
            return false;
        }
        dimensions.retain(|dimension| dimension.growth != 0);
        dimensions.sort_by_key(|dimension| (std::cmp::Reverse(dimension.growth), dimension.differs));
        // Variables with the same growth become one, unless one of them must not be 0.
        dimensions.dedup_by(|next, kept| {
            let is_one = next.growth == kept.growth && !next.differs && !kept.differs;
            if is_one {
                (kept.low, kept.high) = (kept.low + next.low, kept.high + next.high);
            }
            is_one
        });
        let mut search = Search { dimensions, steps: 0, otherwise };
        let [nearer, further] = self.apart(a, b);
        search.finds(0, b.low - a.high + 1 + nearer, b.high - a.low - 1 + further)
    }
}

struct Search {
    dimensions: Vec<Dimension>,
    steps: u32,
    /// The answer of a search that is too long.
    otherwise: bool,
}

impl Search {
    /// Tests whether the variables from `from` on can sum to a number between `low` and `high`.
    fn finds(&mut self, from: usize, low: i128, high: i128) -> bool {
        let Some(&Dimension { growth, low: first, high: last, differs }) = self.dimensions.get(from) else { return low <= 0 && 0 <= high };
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return self.otherwise;
        }
        let rest = &self.dimensions[from + 1..];
        let least: i128 = rest.iter().map(|d| d.growth * d.low).sum();
        let most: i128 = rest.iter().map(|d| d.growth * d.high).sum();
        let begin = (low - most + growth - 1).div_euclid(growth).max(first);
        let end = (high - least).div_euclid(growth).min(last);
        (begin..=end).any(|number| !(differs && number == 0) && self.finds(from + 1, low - growth * number, high - growth * number))
    }
}
