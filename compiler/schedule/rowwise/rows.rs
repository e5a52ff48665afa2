//! What is known of a group that works row by row before its kernel is written.

use super::across::Across;
use super::facts::Facts;
use super::passes::Passes;
use crate::fuse::Rowwise;
use crate::ir::Value as Tensor;
use crate::schedule::context::Context;
use crate::schedule::quantity::product;
use crate::schedule::reductions::reduction::SHORT_WORK;
use crate::schedule::unsupported::Unsupported;

/// From this weight on an element is kept rather than computed anew: a vector is stored and read in about this many additions.
const KEPT_FROM: u64 = 6;

/// See the module.
pub struct RowwiseSchedule<'a> {
    pub(super) facts: Facts<'a>,
    /// Elements that a scratch buffer keeps: of one row, or of all where rows run at the same time.
    pub(super) kept: u64,
    pub(super) passes: Passes,
    /// How some rows are computed side by side, if they are.
    pub(super) across: Option<Across<'a>>,
}

impl<'a> RowwiseSchedule<'a> {
    /// The schedule of a group that works row by row.
    ///
    /// # Errors
    /// For shapes and types without lowering.
    pub fn new(cx: Context<'a>, rows: &'a Rowwise) -> Result<Self, Unsupported> {
        let facts = Facts::new(cx, rows)?;
        let passes = Passes::new(&cx, rows, KEPT_FROM);
        let kept = if cx.machine.at_once { product(&facts.shape).most(cx.function)? } else { facts.longest };
        let across = Across::new(&facts)?;
        let schedule = Self { facts, kept, passes, across };
        for pass in 0..schedule.passes.list.len() {
            schedule.walks(pass)?;
            schedule.numbers(pass)?;
        }
        Ok(schedule)
    }

    /// The tensor read and the tensor written that may share memory: of each row, all of the one is read before the other is written, or
    /// each element is.
    pub(super) fn shareable(&self) -> Vec<(Tensor, Tensor)> {
        let group = self.facts.cx.group;
        let mut pairs = Vec::new();
        for &written in group.outputs.iter().filter(|&&v| self.facts.is_wide(v)) {
            for read in group.inputs(self.facts.cx.function).into_iter().filter(|&v| self.facts.is_wide(v)) {
                let fits = self.facts.cx.element(read).bits() == self.facts.cx.element(written).bits();
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
        if self.facts.cx.machine.at_once {
            return 1;
        }
        let costs = self.passes.list.iter().map(|pass| pass.work.expression.cost());
        match costs.fold(0, u64::saturating_add) {
            _ if !self.passes.scratch(&self.facts.cx).is_empty() => 1,
            0..SHORT_WORK => 4,
            _ => 2,
        }
    }

    /// Whether rows are computed one by one: all, or those that are left over where their number is not known.
    pub(super) fn has_single_rows(&self) -> bool {
        self.across.is_none() || self.facts.count().as_known().is_none()
    }
}
