//! Integers that are known only at run time and may be negative: positions, and what programs compute from sizes.

use super::Graph;
use super::indices::Operation;
use crate::ir::{Attribute, Extent, Function, Interval, Op, Value, interval};
use crate::operators::Error;
use std::collections::BTreeMap;

impl Graph<'_> {
    /// An integer as an index.
    ///
    /// # Errors
    /// Never.
    pub fn integer(&mut self, n: i64) -> Result<Value, Error> {
        Ok(self.builder.inst(Op::IndexConstant, &[], vec![Attribute::Int(n)])?[0])
    }

    /// The integer that a tensor of one element holds; the call ends with an error where it is outside the interval.
    ///
    /// # Errors
    /// When the tensor holds no integer.
    pub fn load_integer(&mut self, tensor: Value, interval: Interval) -> Result<Value, Error> {
        Ok(self.builder.inst(Op::IndexLoad, &[tensor], vec![Attribute::Interval(interval)])?[0])
    }

    /// An operation on two integers. Unlike that of extents, a difference may be negative.
    ///
    /// # Errors
    /// Never.
    pub fn compute_integer(&mut self, operation: Operation, a: Value, b: Value) -> Result<Value, Error> {
        let [x, y] = [a, b].map(|index| self.interval(Extent::Value(index)));
        if x.low == x.high && y.low == y.high {
            return self.integer(interval::evaluate(operation as u8, x.low, y.low));
        }
        if operation == Operation::Subtract
            && let Some(difference) = self.difference(Extent::Value(a), Extent::Value(b))
        {
            return self.index(difference);
        }
        Ok(self.builder.inst(Op::IndexBinary, &[a, b], vec![Attribute::Word(operation as u8)])?[0])
    }

    /// a − b, where what is known only at run time cancels so that a number or one extent is left.
    pub fn difference(&self, a: Extent, b: Extent) -> Option<Extent> {
        let mut sum = Sum::default();
        sum.add(self.function(), a, 1, 0)?;
        sum.add(self.function(), b, -1, 0)?;
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

/// A number and multiples of indices.
#[derive(Default)]
struct Sum {
    constant: i64,
    terms: BTreeMap<Value, i64>,
}

/// Sums of sums are followed so deep.
const MAX_DEPTH: usize = 32;

impl Sum {
    /// Adds a multiple of an extent. `None` beyond 64 bits.
    fn add(&mut self, function: &Function, extent: Extent, factor: i64, depth: usize) -> Option<()> {
        let index = match function.resolved(extent) {
            Extent::Static(n) => {
                self.constant = self.constant.checked_add(i64::try_from(n).ok()?.checked_mul(factor)?)?;
                return Some(());
            }
            Extent::Value(index) => index,
        };
        let known = |value: Value| {
            let interval = function.interval(Extent::Value(value));
            (interval.low == interval.high).then_some(interval.low)
        };
        if let Some(n) = known(index) {
            self.constant = self.constant.checked_add(n.checked_mul(factor)?)?;
            return Some(());
        }
        let data = function.defining_inst(index).map(|inst| &function.insts[inst]).filter(|data| data.op == Op::IndexBinary && depth < MAX_DEPTH);
        let Some((word, &[a, b])) = data.and_then(|data| Some((data.attributes.first()?, <&[Value; 2]>::try_from(&data.operands[..]).ok()?))) else {
            return self.term(index, factor);
        };
        let mut both = |x: i64, y: i64| {
            self.add(function, Extent::Value(a), x, depth + 1)?;
            self.add(function, Extent::Value(b), y, depth + 1)
        };
        match (word, known(a), known(b)) {
            (Attribute::Word(word), _, _) if *word == Operation::Add as u8 => both(factor, factor),
            (Attribute::Word(word), _, _) if *word == Operation::Subtract as u8 => both(factor, factor.checked_neg()?),
            (Attribute::Word(word), _, Some(n)) if *word == Operation::Multiply as u8 => {
                self.add(function, Extent::Value(a), factor.checked_mul(n)?, depth + 1)
            }
            (Attribute::Word(word), Some(n), _) if *word == Operation::Multiply as u8 => {
                self.add(function, Extent::Value(b), factor.checked_mul(n)?, depth + 1)
            }
            _ => self.term(index, factor),
        }
    }

    fn term(&mut self, index: Value, factor: i64) -> Option<()> {
        let sum = self.terms.entry(index).or_insert(0);
        *sum = sum.checked_add(factor)?;
        Some(())
    }
}
