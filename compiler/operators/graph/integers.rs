//! Integers that are known only at run time and may be negative: positions, and what programs compute from sizes.

use super::Graph;
use crate::ir::{Extent, Function, IndexOperation, Interval, Operation, Value, interval};
use crate::operators::Error;
use std::collections::BTreeMap;

impl Graph<'_> {
    /// An integer as an index.
    ///
    /// # Errors
    /// Never.
    pub fn integer(&mut self, n: i64) -> Result<Value, Error> {
        Ok(self.builder.index_constant(n)?)
    }

    /// The integer that a tensor of one element holds; the call ends with an error where it is outside the interval.
    ///
    /// # Errors
    /// When the tensor holds no integer.
    pub fn load_integer(&mut self, tensor: Value, interval: Interval) -> Result<Value, Error> {
        Ok(self.builder.index_load(tensor, interval)?)
    }

    /// An operation on two integers. Unlike that of extents, a difference may be negative.
    ///
    /// # Errors
    /// Never.
    pub fn compute_integer(&mut self, operation: IndexOperation, a: Value, b: Value) -> Result<Value, Error> {
        let [x, y] = [a, b].map(|index| self.interval(Extent::Value(index)));
        if x.low == x.high && y.low == y.high {
            return self.integer(interval::evaluate(operation, x.low, y.low));
        }
        if operation == IndexOperation::Subtract
            && let Some(difference) = self.difference(Extent::Value(a), Extent::Value(b))
        {
            return self.index(difference);
        }
        Ok(self.builder.index_binary(operation, a, b)?)
    }

    /// a − b, where what is known only at run time cancels so that a number or one extent is left.
    pub fn difference(&self, a: Extent, b: Extent) -> Option<Extent> {
        let mut sum = Sum::default();
        sum.add(self.function(), a, 1)?;
        sum.add(self.function(), b, -1)?;
        sum.terms.retain(|_, factor| *factor != 0);
        match (sum.constant, sum.terms.len(), sum.terms.first_key_value()) {
            (n, 0, _) => u64::try_from(n).ok().map(Extent::Static),
            (0, 1, Some((&index, 1))) if self.interval(Extent::Value(index)).low >= 0 => Some(Extent::Value(index)),
            _ => None,
        }
    }

    /// How often the product of some extents holds that of others, rounded down.
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

/// A number and multiples of indices.
#[derive(Default)]
struct Sum {
    constant: i64,
    terms: BTreeMap<Value, i64>,
    /// Operations that were followed.
    followed: usize,
}

/// So many operations of a sum are followed; what is beyond is a term as a whole.
const MOST_FOLLOWED: usize = 64;

impl Sum {
    /// Adds a multiple of an extent. `None` beyond 64 bits.
    fn add(&mut self, function: &Function, extent: Extent, factor: i64) -> Option<()> {
        let index = match function.resolved(extent) {
            Extent::Static(n) => {
                self.constant = self.constant.checked_add(i64::try_from(n).ok()?.checked_mul(factor)?)?;
                return Some(());
            }
            Extent::Value(index) => index,
        };
        if let Some(n) = number(function, index) {
            self.constant = self.constant.checked_add(n.checked_mul(factor)?)?;
            return Some(());
        }
        let Some((operation, [a, b])) = operation_of(function, index).filter(|_| self.followed < MOST_FOLLOWED) else {
            return self.term(index, factor);
        };
        self.followed += 1;
        let [x, y] = match (operation, number(function, a), number(function, b)) {
            (IndexOperation::Add, _, _) => [factor, factor],
            (IndexOperation::Subtract, _, _) => [factor, factor.checked_neg()?],
            (IndexOperation::Multiply, _, Some(n)) => return self.add(function, Extent::Value(a), factor.checked_mul(n)?),
            (IndexOperation::Multiply, Some(n), _) => return self.add(function, Extent::Value(b), factor.checked_mul(n)?),
            _ => return self.term(index, factor),
        };
        self.add(function, Extent::Value(a), x)?;
        self.add(function, Extent::Value(b), y)
    }

    fn term(&mut self, index: Value, factor: i64) -> Option<()> {
        let sum = self.terms.entry(index).or_insert(0);
        *sum = sum.checked_add(factor)?;
        Some(())
    }
}
