//! What is known of a group that works row by row before its kernel is written.

use super::passes::Passes;
use crate::fuse::Rowwise;
use crate::ir::{Operation, Value as Tensor};
use crate::schedule::context::Context;
use crate::schedule::quantity::{Quantity, product};
use crate::schedule::reductions::reduction::{Reduction, SHORT_WORK};
use crate::schedule::unsupported::Unsupported;

/// See the module.
pub struct RowwiseSchedule<'a> {
    pub(super) cx: Context<'a>,
    pub(super) rows: &'a Rowwise,
    pub(super) shape: Vec<Quantity>,
    /// Elements of a row, and the most that these can be.
    pub(super) length: Quantity,
    pub(super) longest: u64,
    /// Elements that a scratch buffer keeps: of one row, or of all where rows run at the same time.
    pub(super) kept: u64,
    pub(super) passes: Passes,
}

impl<'a> RowwiseSchedule<'a> {
    /// The schedule of a group that works row by row.
    ///
    /// # Errors
    /// For shapes and types without lowering.
    pub fn new(cx: Context<'a>, rows: &'a Rowwise) -> Result<Self, Unsupported> {
        let shape: Vec<Quantity> = rows.shape.iter().map(|&extent| Quantity::of(cx.function.resolved(extent))).collect();
        let length = shape.last().cloned().unwrap_or(Quantity::known(1));
        let longest = length.most(cx.function)?;
        let passes = Passes::new(&cx, rows);
        let kept = if cx.machine.at_once { product(&shape).most(cx.function)? } else { longest };
        let schedule = Self { cx, rows, shape, length, longest, kept, passes };
        for pass in 0..schedule.passes.list.len() {
            schedule.walks(pass)?;
            schedule.numbers(pass)?;
        }
        Ok(schedule)
    }

    /// The reduction of an instruction.
    pub(super) fn reduction(&self, inst: crate::ir::Inst) -> Result<Reduction, Unsupported> {
        let data = &self.cx.function.insts[inst];
        let Operation::Reduce(reduce) = &data.operation else { return Err(Unsupported::new(format!("reductions by {}", data.op()))) };
        Reduction::new(reduce.reduction, self.cx.element(data.operands[0]))
    }

    /// The tensor read and the tensor written that may share memory: of each row, all of the one is read before the other is written, or
    /// each element is.
    pub(super) fn shareable(&self) -> Vec<(Tensor, Tensor)> {
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

    /// Rows that are walked over side by side, so that the reductions of one hide the latency of another's: fewer where each takes much code, one
    /// where elements are kept in scratch memory, which is that of one row, and where rows run at the same time anyway.
    pub(super) fn together(&self) -> u64 {
        if self.cx.machine.at_once {
            return 1;
        }
        let costs = self.passes.list.iter().map(|pass| pass.work.expression.cost());
        match costs.fold(0, u64::saturating_add) {
            _ if !self.passes.scratch(&self.cx).is_empty() => 1,
            0..SHORT_WORK => 4,
            _ => 2,
        }
    }

    /// Whether a tensor has an element for each of every row.
    fn is_wide(&self, tensor: Tensor) -> bool {
        self.cx.function.values[tensor].ty.as_tensor().is_some() && self.cx.quantities(tensor) == self.shape
    }
}
