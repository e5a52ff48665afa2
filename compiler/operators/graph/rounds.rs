//! Facts in the body of a loop: numbers that count iterations, and extents that stay the same.

use super::Graph;
use super::captured::Captures;
use super::forms::AtLeast;
use super::sums::{Sum, Term};
use crate::ir::{Extent, Function, Interval, Op, Operation, Value};
use crate::operators::Error;

/// The maximum number of bounds that are substituted for indices, one after the other, to bound a sum.
const MOST_STEPS: usize = 4;

impl Graph<'_> {
    /// Loads the counter of a loop, a tensor of one integer, as an index within an interval and below an extent.
    ///
    /// # Errors
    /// When the tensor holds no integer.
    pub fn count(&mut self, tensor: Value, interval: Interval, below: Option<Extent>) -> Result<(), Error> {
        let index = self.load_integer(tensor, interval)?;
        self.round.counters.insert(tensor, index);
        self.round.below.extend(below.map(|limit| (index, limit)));
        Ok(())
    }

    /// Indices and the extents that they are below.
    pub fn limits(&self) -> Vec<(Value, Extent)> {
        self.round.below.clone()
    }

    /// Copies known limits of indices that this function shares with the function around it.
    pub fn inherit(&mut self, around: &Function, captures: &Captures, limits: &[(Value, Extent)]) {
        let inner = |index: Value| {
            let same = |(outer, _): &&(Value, Value)| around.index_root(*outer) == around.index_root(index);
            captures.iter().find(same).map(|(_, inner)| *inner)
        };
        for &(index, limit) in limits {
            let limit = match around.resolved(limit) {
                Extent::Value(limit) => inner(limit).map(Extent::Value),
                known @ Extent::Static(_) => Some(known),
            };
            self.round.below.extend(inner(index).zip(limit));
        }
    }

    /// Returns a tensor whose extent along an axis is made equal to `extent`, the extent in the iteration before. If the two may differ, they are
    /// compared at run time if the file says that the extent stays (`claimed`). `None` if it changes.
    ///
    /// # Errors
    /// When there are too many elements.
    pub fn kept(&mut self, value: Value, axis: usize, extent: Extent, claimed: bool) -> Result<Option<Value>, Error> {
        let mut shape = self.extents(value);
        let own = shape[axis];
        if own == extent {
            return Ok(Some(value));
        }
        // An extent that always changes by the same number does not stay, whatever the intervals allow.
        if self.increase(own, extent).is_some_and(|more| more != 0) {
            return Ok(None);
        }
        if self.equate_unless_known(own, extent) {
            return Ok(Some(value));
        }
        let is_compared = self.function().defining_inst(value).is_some_and(|inst| self.function().insts[inst].op() == Op::Reshape);
        if !self.follows_rounds || self.are_never_equal(own, extent) || !(self.are_equal(own, extent) || claimed && !is_compared) {
            return Ok(None);
        }
        shape[axis] = extent;
        Ok(Some(self.builder.reshape(value, shape)?))
    }

    /// Returns the rest of a concatenation that begins with `first`; `None` if `joined` is none along the axis.
    ///
    /// # Errors
    /// Never.
    pub fn appended(&mut self, joined: Value, first: Value, axis: usize) -> Result<Option<Value>, Error> {
        let Some(inst) = self.function().defining_inst(joined) else { return Ok(None) };
        let data = &self.function().insts[inst];
        match (&data.operation, &data.operands[..]) {
            (Operation::Concat(concat), [begin, rest @ ..]) if concat.axis == axis && *begin == first && !rest.is_empty() => {
                let rest = rest.to_vec();
                self.concat(&rest, axis).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Returns the tensor that a value is a slice of, or the value itself.
    pub fn whole_of(&self, part: Value) -> Value {
        let data = self.function().defining_inst(part).map(|inst| &self.function().insts[inst]);
        data.filter(|data| data.op() == Op::Slice).map_or(part, |data| data.operands[0])
    }

    /// The difference between two extents, if it is constant.
    pub fn increase(&self, extent: Extent, than: Extent) -> Option<i64> {
        self.form_where(extent)?.plus(&self.form_where(than)?, -1)?.as_known()
    }

    /// Notes that an index exceeds an extent by at most `more`, whatever branch is taken.
    pub fn limit(&mut self, index: Value, extent: Extent, more: i64) {
        self.round.ways.push((index, extent, more));
    }

    /// The largest difference between two extents, if a bound is known.
    pub fn most_increase(&self, extent: Extent, than: Extent) -> Option<i64> {
        self.largest(&self.form_where(extent)?.plus(&self.form_where(than)?, -1)?, MOST_STEPS)
    }

    /// An upper bound of a sum, with the limits of branches substituted for added indices.
    fn largest(&self, sum: &Sum, left: usize) -> Option<i64> {
        if let Some(number) = sum.as_known() {
            return Some(number);
        }
        let left = left.checked_sub(1)?;
        let limits = sum.indices().filter(|&(_, factor)| factor > 0).flat_map(|(index, factor)| {
            let of_index = self.round.ways.iter().filter(move |way| way.0 == index);
            of_index.map(move |&(_, extent, more)| (index, factor, extent, more))
        });
        let replaced = limits.filter_map(|(index, factor, extent, more)| {
            let limit = self.form_where(extent)?.raised(more)?;
            let sum = sum.clone().plus(&Sum::of(Term::Index(index)), -factor)?.plus(&limit, factor)?;
            self.largest(&sum, left)
        });
        replaced.min()
    }

    /// Makes two extents equal, unless both are static. Returns whether they are equal.
    fn equate_unless_known(&mut self, a: Extent, b: Extent) -> bool {
        (a.as_static().is_none() || b.as_static().is_none()) && self.make_equal(a, b).is_ok()
    }

    /// Tests whether two extents are always equal.
    pub(super) fn are_equal(&self, a: Extent, b: Extent) -> bool {
        self.equal_where(a, b).is_some_and(|assumed| assumed.iter().all(|&assumed| self.holds(assumed)))
    }

    /// Tests whether an assumed lower bound of an index always holds.
    fn holds(&self, assumed: AtLeast) -> bool {
        let sum = self.form(Extent::Value(assumed.index)).and_then(|sum| sum.raised(assumed.low.checked_neg()?));
        sum.is_some_and(|sum| self.is_natural(&sum, MOST_STEPS))
    }

    /// Tests whether an extent is never more than another one.
    pub(super) fn is_at_most(&self, a: Extent, b: Extent) -> bool {
        let rest = self.form(b).zip(self.form(a)).and_then(|(b, a)| b.plus(&a, -1));
        rest.is_some_and(|rest| self.is_natural(&rest, MOST_STEPS))
    }

    /// Tests whether a sum is never below 0, for its smallest terms or with upper bounds substituted for subtracted indices.
    fn is_natural(&self, sum: &Sum, left: usize) -> bool {
        if sum.least(|index| self.interval(Extent::Value(index))).is_some_and(|least| least >= 0) {
            return true;
        }
        let Some(left) = left.checked_sub(1) else { return false };
        let replaced =
            |index: Value, factor: i64, bound: &Sum| sum.clone().plus(&Sum::of(Term::Index(index)), -factor)?.plus(bound, factor);
        let mut bounded = sum.indices().filter(|&(_, factor)| factor < 0);
        bounded.any(|(index, factor)| {
            let mut bounds = self.ceilings(index).into_iter();
            bounds.any(|bound| replaced(index, factor, &bound).is_some_and(|sum| self.is_natural(&sum, left)))
        })
    }

    /// Sums that an index never exceeds.
    fn ceilings(&self, index: Value) -> Vec<Sum> {
        let limits = self.round.below.iter().filter(|(below, _)| *below == index);
        let mut ceilings: Vec<Sum> = limits.filter_map(|&(_, limit)| self.form(limit)?.raised(-1)).collect();
        ceilings.extend(self.smaller_of(index).into_iter().flatten().filter_map(|operand| self.form(Extent::Value(operand))));
        ceilings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{ElementType, Module, TensorType, Type};
    use crate::operators::slices;

    /// A round that is below the extent of an input of 1 to 9 rows.
    fn counted<'m>(module: &'m mut Module) -> (Graph<'m>, Value, Extent, Extent) {
        let mut g = Graph::new(module, "round");
        let x = g.builder.param(Type::Tensor(TensorType::of(ElementType::F32, &[9, 2])), None);
        let n = Extent::Value(g.measure(x, 0, Interval { low: 1, high: 9 }));
        let counter = g.builder.param(Type::Tensor(TensorType::of(ElementType::I32, &[])), None);
        g.follows_rounds = true;
        g.count(counter, Interval { low: 0, high: 8 }, Some(n)).unwrap();
        let i = Extent::Value(g.round.counter(counter).unwrap());
        (g, x, i, n)
    }

    #[test]
    fn a_counter_is_below_its_limit() {
        let mut module = Module::default();
        let (mut g, _, i, n) = counted(&mut module);
        let next = g.add(i, Extent::Static(1)).unwrap();
        assert!(g.is_at_most(next, n) && !g.is_at_most(n, next));
        assert_eq!(g.min(next, n), Ok(next));
        let after = g.add(i, Extent::Static(2)).unwrap();
        assert!(!g.is_at_most(after, n));
    }

    #[test]
    fn what_is_before_and_after_a_counter_is_all() {
        let mut module = Module::default();
        let (mut g, x, i, n) = counted(&mut module);
        let next = g.add(i, Extent::Static(1)).unwrap();
        let rest = g.sub(n, next).unwrap();
        let before = slices::part(&mut g, x, 0, slices::Cut::run(Extent::Static(0), next)).unwrap();
        let after = slices::part(&mut g, x, 0, slices::Cut::run(next, rest)).unwrap();
        let joined = g.concat(&[after, before], 0).unwrap();
        assert_eq!(g.kept(joined, 0, n, false), Ok(Some(joined)));
        assert_eq!(g.extents(joined)[0], n);
    }

    #[test]
    fn an_extent_that_changes_is_not_kept() {
        let mut module = Module::default();
        let (mut g, x, i, n) = counted(&mut module);
        let one = slices::part(&mut g, x, 0, slices::Cut::at(i)).unwrap();
        let longer = g.concat(&[x, one], 0).unwrap();
        assert_eq!(g.kept(longer, 0, n, true), Ok(None));
        // Unrelated extents are compared if the file says that the extent stays.
        let part = slices::part(&mut g, x, 0, slices::Cut::run(Extent::Static(0), i)).unwrap();
        assert_eq!(g.kept(part, 0, Extent::Static(3), false), Ok(None));
        assert!(g.kept(part, 0, Extent::Static(3), true).unwrap().is_some_and(|value| g.extents(value)[0] == Extent::Static(3)));
    }
}
