//! Run-time integers that may be negative: positions, and results of arithmetic on sizes.

use super::Graph;
use super::sums::{Sum, Term};
use crate::ir::{Extent, Function, IndexOperation, Interval, Operation, Value, interval};
use crate::operators::Error;

impl Graph<'_> {
    /// An integer as an index.
    ///
    /// # Errors
    /// Never.
    pub fn integer(&mut self, n: i64) -> Result<Value, Error> {
        Ok(self.builder.index_constant(n)?)
    }

    /// Loads the integer of a one-element tensor as an index. The call ends with an error if it is outside the interval.
    ///
    /// # Errors
    /// When the tensor holds no integer.
    pub fn load_integer(&mut self, tensor: Value, interval: Interval) -> Result<Value, Error> {
        Ok(self.builder.index_load(tensor, interval)?)
    }

    /// An operation on two integers. A difference may be negative, unlike a difference of extents.
    ///
    /// # Errors
    /// Never.
    pub fn compute_integer(&mut self, operation: IndexOperation, a: Value, b: Value) -> Result<Value, Error> {
        let [x, y] = [a, b].map(|index| self.interval(Extent::Value(index)));
        if x.low == x.high && y.low == y.high {
            return self.integer(interval::evaluate(operation, x.low, y.low));
        }
        if let Some(same) = unchanged(operation, (a, x), (b, y)) {
            return Ok(same);
        }
        if operation == IndexOperation::Subtract
            && let Some(difference) = self.difference(Extent::Value(a), Extent::Value(b))
        {
            return self.index(difference);
        }
        Ok(self.builder.index_binary(operation, a, b)?)
    }

    /// Returns a − b if run-time terms cancel so that a number or one extent is left.
    pub fn difference(&self, a: Extent, b: Extent) -> Option<Extent> {
        let mut linear = Linear { function: self.function(), followed: 0 };
        let difference = linear.of(a)?.plus(&linear.of(b)?, -1)?;
        match difference.as_known() {
            Some(n) => u64::try_from(n).ok().map(Extent::Static),
            None => difference.as_index().map(Extent::Value).filter(|&extent| self.interval(extent).low >= 0),
        }
    }

    /// Returns a + b if run-time terms cancel so that a number is left.
    pub(super) fn known_sum(&self, a: Extent, b: Extent) -> Option<Extent> {
        let mut linear = Linear { function: self.function(), followed: 0 };
        let sum = linear.of(a)?.plus(&linear.of(b)?, 1)?;
        u64::try_from(sum.as_known()?).ok().map(Extent::Static)
    }

    /// Returns the product of some extents divided by the product of others, rounded down.
    ///
    /// # Errors
    /// [`Error::TooManyElements`].
    pub fn quotient(&mut self, dividend: &[Extent], divisor: &[Extent]) -> Result<Extent, Error> {
        let sizes = (self.function().size(dividend), self.function().size(divisor));
        let (Some(mut left), Some(right)) = sizes else { return Err(Error::TooManyElements) };
        let mut cancels = right.known > 0 && left.known.is_multiple_of(right.known);
        for extent in &right.extents {
            match left.extents.iter().position(|other| other == extent) {
                Some(position) => {
                    left.extents.remove(position);
                }
                None => cancels = false,
            }
        }
        if cancels {
            let rest = left.extents.iter().map(|&extent| Extent::Value(extent));
            return self.product(&std::iter::once(Extent::Static(left.known / right.known)).chain(rest).collect::<Vec<_>>());
        }
        let (dividend, divisor) = (self.product(dividend)?, self.product(divisor)?);
        self.floor_div(dividend, divisor)
    }
}

/// The operand that an operation gives back: nothing is added, subtracted, or multiplied with.
fn unchanged(operation: IndexOperation, (a, x): (Value, Interval), (b, y): (Value, Interval)) -> Option<Value> {
    use IndexOperation::{Add, CeilingDivide, FloorDivide, Multiply, Subtract};
    match operation {
        Add | Subtract if y == Interval::exactly(0) => Some(a),
        Multiply | FloorDivide | CeilingDivide if y == Interval::exactly(1) => Some(a),
        Add if x == Interval::exactly(0) => Some(b),
        Multiply if x == Interval::exactly(1) => Some(b),
        _ => None,
    }
}

/// The operation that defines an index, and its operands.
pub fn operation_of(function: &Function, index: Value) -> Option<(IndexOperation, [Value; 2])> {
    let data = &function.insts[function.defining_inst(index)?];
    match &data.operation {
        Operation::IndexBinary(binary) => Some((binary.operation, [data.operands[0], data.operands[1]])),
        _ => None,
    }
}

/// The number that an index always is.
pub fn number(function: &Function, index: Value) -> Option<i64> {
    let interval = function.interval(Extent::Value(index));
    (interval.low == interval.high).then_some(interval.low)
}

/// Converts indices to sums of multiples of indices. Saturation is ignored: if a position is the sum of another one and a count, their difference is
/// the count.
struct Linear<'f> {
    function: &'f Function,
    /// The number of operations followed so far.
    followed: usize,
}

/// The maximum number of operations that are followed. An index that needs more is one term.
const MOST_FOLLOWED: usize = 64;

impl Linear<'_> {
    /// An extent as a sum. `None` beyond 64 bits.
    fn of(&mut self, extent: Extent) -> Option<Sum> {
        let index = match self.function.resolved(extent) {
            Extent::Static(n) => return Some(Sum::known(i64::try_from(n).ok()?)),
            Extent::Value(index) => index,
        };
        if let Some(n) = number(self.function, index) {
            return Some(Sum::known(n));
        }
        let itself = Some(Sum::of(Term::Index(index)));
        let followed = operation_of(self.function, index).filter(|_| self.followed < MOST_FOLLOWED);
        let Some((operation, [a, b])) = followed else { return itself };
        self.followed += 1;
        match (operation, number(self.function, a), number(self.function, b)) {
            (IndexOperation::Add, _, _) => self.of(Extent::Value(a))?.plus(&self.of(Extent::Value(b))?, 1),
            (IndexOperation::Subtract, _, _) => self.of(Extent::Value(a))?.plus(&self.of(Extent::Value(b))?, -1),
            (IndexOperation::Multiply, _, Some(n)) => Sum::default().plus(&self.of(Extent::Value(a))?, n),
            (IndexOperation::Multiply, Some(n), _) => Sum::default().plus(&self.of(Extent::Value(b))?, n),
            _ => itself,
        }
    }
}
