//! Reductions of columns. Each element of a row is in a vector of its own, and all are in the row's lane.

use crate::ir::ElementType;
use crate::kernel::{BinaryOp, KernelBuilder, Value};
use crate::schedule::elementwise::lanes::widen;
use crate::schedule::reductions::reduction::Reduction;

/// Order in which columns are combined.
pub(super) enum Fold {
    /// The order of vectors of this many lanes along the row, so that floats give the same bits.
    InOrder(Reduction, u16),
    /// Any order, in stored form.
    Narrow(BinaryOp),
}

/// Returns the minimum or maximum of narrow integers in stored form that equals a reduction. `None` for other reductions.
pub(super) fn narrow_extreme(reduction: &Reduction, element: ElementType) -> Option<BinaryOp> {
    let is_narrow = element.is_integer() && element.bits() < 32;
    let signed = element.is_signed_integer();
    reduction.is_maximum().filter(|_| is_narrow).map(|is_maximum| match (is_maximum, signed) {
        (true, true) => BinaryOp::SignedMax,
        (true, false) => BinaryOp::UnsignedMax,
        (false, true) => BinaryOp::SignedMin,
        (false, false) => BinaryOp::UnsignedMin,
    })
}

/// Combines columns and returns the result in register form. `load` returns a column in stored form.
pub(super) fn folded(
    b: &mut KernelBuilder,
    (fold, element): (&Fold, ElementType),
    rows: u16,
    length: u16,
    mut load: impl FnMut(&mut KernelBuilder, u16) -> Value,
) -> Value {
    match fold {
        Fold::Narrow(op) => {
            let mut result = load(b, 0);
            for column in 1..length {
                let next = load(b, column);
                result = b.binary(*op, result, next);
            }
            widen(b, result, element)
        }
        Fold::InOrder(reduction, lanes) => {
            let load = |b: &mut KernelBuilder, column: u16| {
                let raw = load(b, column);
                widen(b, raw, element)
            };
            InOrder { reduction, lanes: *lanes, rows, length, load }.total(b)
        }
    }
}

/// Combination of columns in the order of vectors along the row.
struct InOrder<'r, L> {
    reduction: &'r Reduction,
    lanes: u16,
    rows: u16,
    length: u16,
    load: L,
}

impl<L: FnMut(&mut KernelBuilder, u16) -> Value> InOrder<'_, L> {
    fn whole(&self) -> u16 {
        self.length / self.lanes * self.lanes
    }

    fn total(&mut self, b: &mut KernelBuilder) -> Value {
        let mut total = self.reduction.neutral(b, self.rows);
        if self.whole() > 0 {
            let sum = self.halves(b, 0, 1);
            total = self.reduction.combine(b, total, sum);
        }
        if self.whole() < self.length {
            let sum = self.one_by_one(b, self.whole(), self.length, 1);
            total = self.reduction.combine(b, total, sum);
        }
        total
    }

    /// Returns lane `first` after halvings to `width` lanes. Each halving combines the upper half with the lower one.
    fn halves(&mut self, b: &mut KernelBuilder, first: u16, width: u16) -> Value {
        if width == self.lanes {
            return self.one_by_one(b, first, self.whole(), self.lanes);
        }
        let low = self.halves(b, first, 2 * width);
        let high = self.halves(b, first + width, 2 * width);
        self.reduction.combine(b, low, high)
    }

    fn one_by_one(&mut self, b: &mut KernelBuilder, start: u16, end: u16, step: u16) -> Value {
        let mut sum = self.reduction.neutral(b, self.rows);
        for column in (start..end).step_by(step.into()) {
            let next = (self.load)(b, column);
            sum = self.reduction.combine(b, sum, next);
        }
        sum
    }
}
