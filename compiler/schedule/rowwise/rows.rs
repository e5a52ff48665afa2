//! Analysis of a group that works row by row, before its kernel is written.

use super::across::Across;
use super::facts::Facts;
use super::passes::Passes;
use crate::fuse::Rowwise;
use crate::schedule::context::Context;
use crate::schedule::pair::Pair;
use crate::schedule::reductions::reduction::SHORT_WORK;
use crate::schedule::unsupported::Unsupported;

/// Minimum cost of an element that is kept in memory rather than computed again. A vector is stored and loaded in the time of about this many
/// additions.
const KEPT_FROM: u64 = 6;

/// Schedule of a group that works row by row.
pub struct RowwiseSchedule<'a> {
    pub(super) facts: Facts<'a>,
    pub(super) passes: Passes,
    /// Way to compute several rows side by side, if there is one.
    pub(super) across: Option<Across<'a>>,
}

impl<'a> RowwiseSchedule<'a> {
    /// Makes the schedule of a group that works row by row.
    ///
    /// # Errors
    /// [`Unsupported`] for shapes and types without lowering.
    pub fn new(cx: Context<'a>, rows: &'a Rowwise) -> Result<Self, Unsupported> {
        let facts = Facts::new(cx, rows)?;
        let passes = Passes::new(&cx, rows, KEPT_FROM);
        let across = Across::new(&facts)?;
        let schedule = Self { facts, passes, across };
        for pass in 0..schedule.passes.list.len() {
            schedule.walks(pass)?;
            schedule.numbers(pass)?;
        }
        Ok(schedule)
    }

    /// Returns pairs of a read and a written tensor that may share memory. In each row, the read tensor is read completely before the other is
    /// written, or each element is read before it is written.
    pub(super) fn shareable(&self) -> Vec<Pair> {
        let group = self.facts.cx.group;
        let mut pairs = Vec::new();
        for &written in group.outputs.iter().filter(|&&v| self.facts.is_wide(v)) {
            for read in group.inputs(self.facts.cx.function).into_iter().filter(|&v| self.facts.is_wide(v)) {
                let fits = self.facts.cx.element(read).bits() == self.facts.cx.element(written).bits();
                if fits && self.passes.last_read(read) <= self.passes.first_write(written) {
                    pairs.push(Pair { read, written });
                }
            }
        }
        pairs
    }

    /// Returns the number of rows that are walked together, so that their reductions hide each other's latency. It is smaller if each row takes much
    /// code. It is 1 if elements are kept in scratch memory, which has room for one row, or if the machine hides latency by itself.
    pub(super) fn together(&self) -> u64 {
        if self.facts.cx.hides_latency() {
            return 1;
        }
        let costs = self.passes.list.iter().map(|pass| pass.work.expression.cost());
        match costs.fold(0, u64::saturating_add) {
            _ if !self.passes.scratch(&self.facts.cx).is_empty() => 1,
            0..SHORT_WORK => 4,
            _ => 2,
        }
    }

    /// Tests whether rows are computed one by one: all of them, or the last ones if their number is known only at run time.
    pub(super) fn has_single_rows(&self) -> bool {
        self.across.is_none() || self.facts.count().as_known().is_none()
    }
}
