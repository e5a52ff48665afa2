//! Reductions along rows and element-wise work on the same rows, one row after the other: softmax, normalisations. Each row is walked over
//! once for each of its [`passes`]; sums are taken in the order that a reduction alone takes them in.

mod lower;
mod passes;

use super::quantity::{Quantity, product};
use super::reduction::Reduction;
use super::{Context, Lowered, Requirements, Schedule, Unsupported};
use crate::fuse::Rowwise;
use crate::ir::Value as Tensor;
use passes::{Keeper, Passes};

/// See the module.
pub struct RowwiseSchedule<'a> {
    cx: Context<'a>,
    rows: &'a Rowwise,
    shape: Vec<Quantity>,
    /// Elements of a row.
    length: u64,
    passes: Passes,
}

impl<'a> RowwiseSchedule<'a> {
    /// The schedule of a group that works row by row.
    ///
    /// # Errors
    /// For shapes and types without lowering.
    pub fn new(cx: Context<'a>, rows: &'a Rowwise) -> Result<Self, Unsupported> {
        let shape: Vec<Quantity> = rows.shape.iter().map(|&extent| Quantity::of(cx.function.resolved(extent))).collect();
        let length = shape.last().and_then(Quantity::as_known).and_then(|n| u64::try_from(n).ok());
        let length = length.ok_or_else(|| Unsupported::new("rows whose length is known only when the program runs"))?;
        let passes = Passes::new(&cx, rows);
        let schedule = Self { cx, rows, shape, length, passes };
        for pass in 0..schedule.passes.list.len() {
            schedule.walks(pass)?;
            schedule.numbers(pass)?;
        }
        Ok(schedule)
    }

    /// The reduction of an instruction.
    fn reduction(&self, inst: crate::ir::Inst) -> Result<Reduction, Unsupported> {
        let data = &self.cx.function.insts[inst];
        Reduction::new(data.word("reduction"), self.cx.element(data.operands[0]))
    }

    /// The tensor read and the tensor written that may share memory: of each row, all of the one is read before the other is written, or
    /// each element is.
    fn shareable(&self) -> Vec<(Tensor, Tensor)> {
        let group = self.cx.group;
        let mut pairs = Vec::new();
        for &written in group.outputs.iter().filter(|&&v| self.is_wide(v)) {
            for read in group.inputs(self.cx.function).into_iter().filter(|&v| self.is_wide(v)) {
                let fits = self.cx.element(read).bits() == self.cx.element(written).bits();
                if fits && self.passes.last_read(read) <= self.passes.first_write(written) {
                    pairs.push((read, written));
                }
            }
        }
        pairs
    }

    /// Whether a tensor has an element for each of every row.
    fn is_wide(&self, tensor: Tensor) -> bool {
        self.cx.function.values[tensor].ty.as_tensor().is_some() && self.cx.quantities(tensor) == self.shape
    }
}

impl Schedule for RowwiseSchedule<'_> {
    fn requirements(&self) -> Requirements {
        let bytes = |element: crate::ir::ElementType| self.length * u64::from(element.bits() / 8);
        let scratch = self.passes.scratch(&self.cx).into_iter().map(bytes).collect();
        Requirements { scratch, may_share: self.shareable(), ..Requirements::default() }
    }

    fn lower(&self, shared: &[(Tensor, Tensor)]) -> Result<Lowered, Unsupported> {
        lower::lower(self, shared)
    }
}
