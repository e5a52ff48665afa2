//! Analysis of a group that works row by row, before its kernel is written.

use super::across::Across;
use super::facts::Facts;
use super::passes::Passes;
use crate::fuse::Rowwise;
use crate::kernel::Value;
use crate::schedule::context::Context;
use crate::schedule::pair::Pair;
use crate::schedule::quantity::product;
use crate::schedule::reductions::reduction::SHORT_WORK;
use crate::schedule::unsupported::Unsupported;

/// Minimum cost of an element that is kept in memory rather than computed again. A vector is stored and loaded in the time of about this many
/// additions.
const KEPT_FROM: u64 = 6;

/// Rows that a scratch buffer keeps.
#[derive(Clone, Copy)]
pub(super) enum Kept {
    /// The current row, in memory that all rows share one after another.
    Current {
        /// Elements of the longest row.
        elements: u64,
    },
    /// Every row, each in its own place.
    All {
        /// Elements of all rows.
        elements: u64,
    },
}

impl Kept {
    /// Returns the elements of a buffer.
    pub fn elements(self) -> u64 {
        let (Self::Current { elements } | Self::All { elements }) = self;
        elements
    }

    /// Returns the index of an element, from its index in the row and its index in the tensor.
    pub fn place(self, in_row: Value, in_tensor: Value) -> Value {
        match self {
            Self::Current { .. } => in_row,
            Self::All { .. } => in_tensor,
        }
    }
}

/// Schedule of a group that works row by row.
pub struct RowwiseSchedule<'a> {
    pub(super) facts: Facts<'a>,
    pub(super) kept: Kept,
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
        let kept = match cx.shares_scratch() {
            true => Kept::Current { elements: facts.longest },
            false => Kept::All { elements: product(&facts.shape).most(cx.function)? },
        };
        let across = Across::new(&facts)?;
        let schedule = Self { facts, kept, passes, across };
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

    /// Tests whether scratch buffers have room for the elements of one row, so that each of several rows at the same time needs its own.
    pub(super) fn has_private_rows(&self) -> bool {
        matches!(self.kept, Kept::Current { .. })
    }

    /// Tests whether rows are computed one by one: all of them, or the last ones if their number is known only at run time.
    pub(super) fn has_single_rows(&self) -> bool {
        self.across.is_none() || self.facts.count().as_known().is_none()
    }
}
