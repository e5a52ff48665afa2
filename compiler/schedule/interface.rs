//! Interface of a schedule: it states its requirements and writes kernels.

use super::arguments::{Argument, Arguments};
use super::pair::Pair;
use super::unsupported::Unsupported;
use crate::kernel::Kernel;
use crate::machine::Alignment;

/// Requirements of a schedule to the planner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Bytes of each scratch buffer, aligned to a cache line.
    pub scratch: Vec<u64>,
    /// Bytes of each buffer that all ranges of a kernel share, and all kernels of a group. Alignment is the same.
    pub common: Vec<u64>,
    /// Pairs of a read and a written tensor that may start at the same address if the read one dies here. The schedule reads every byte before it
    /// writes this byte. If slices of the written tensor are smaller, it also reads the byte before it writes any byte after it.
    pub may_share: Vec<Pair>,
    /// Pairs of a read and a written tensor. If the read one dies here, the written one may start at the same address or a lower one. Byte *i* is
    /// read before byte *i* is written.
    pub may_slide: Vec<Pair>,
    /// Pairs that are in [`Self::may_share`] only if rows are staged for this purpose: see [`Context::stages`](super::Context::stages).
    pub if_staged: Vec<Pair>,
    /// Additional elements that are moved if a row is computed in short sections, which stage less at once: see
    /// [`Context::in_short_sections`](super::Context::in_short_sections). `None` if there are no sections, or if they are already short.
    pub shorter: Option<u64>,
    /// Number of rounds that the first kernel divides into ranges, if no pair shares memory. `None` if it has no `divide`.
    pub divides: Option<u64>,
    /// Pairs of [`Self::may_share`] with which the first kernel has no `divide`: a range would read memory that another one writes.
    pub whole_only: Vec<Pair>,
    /// `true` if independent rounds of a kernel have private scratch memory (`private` of [`Inst::For`](crate::kernel::Inst::For)). Ranges of these
    /// rounds then need memory of their own.
    pub private_rounds: bool,
}

impl Requirements {
    /// Combines the requirements of two schedules of a group, so that memory serves either.
    #[must_use]
    pub fn of_both(mut self, other: Self) -> Self {
        for (own, other) in [(&mut self.scratch, other.scratch), (&mut self.common, other.common)] {
            own.resize(own.len().max(other.len()), 0);
            own.iter_mut().zip(other).for_each(|(bytes, others)| *bytes = others.max(*bytes));
        }
        self.may_share.retain(|pair| other.may_share.contains(pair));
        self.may_slide.retain(|pair| other.may_slide.contains(pair));
        self.if_staged.retain(|pair| other.if_staged.contains(pair));
        self.shorter = self.shorter.max(other.shorter);
        self.divides = self.divides.max(other.divides);
        self.whole_only.extend(other.whole_only);
        self.private_rounds |= other.private_rounds;
        self
    }

    /// States how the first kernel divides. `extent` returns the number of its rounds if some pairs share memory.
    #[must_use]
    pub fn dividing(mut self, extent: impl Fn(&[Pair]) -> Option<u64>) -> Self {
        self.divides = extent(&[]);
        self.whole_only = self.may_share.iter().copied().filter(|&pair| extent(&[pair]).is_none()).collect();
        self
    }

    /// Tests whether the scratch memory is planned for each range of the kernels.
    pub fn gives_ranges_scratch(&self) -> bool {
        self.divides.is_some() || self.private_rounds
    }

    /// Multiplies the scratch memory by the number of ranges.
    #[must_use]
    pub fn for_ranges(mut self, ranges: u64, alignment: Alignment) -> Self {
        if ranges > 1 {
            self.scratch.iter_mut().for_each(|bytes| *bytes = alignment.up(*bytes) * ranges);
        }
        self
    }
}

/// A kernel with its arguments.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// Kernel. Its name is a stem without the operator's number.
    pub kernel: Kernel,
    /// Arguments, one for each pointer parameter.
    pub arguments: Vec<Argument>,
    /// Description of the schedule and its choices, for reports.
    pub description: String,
    /// Multiply-accumulate operations.
    pub multiply_accumulates: u64,
}

impl Lowered {
    /// Ends a kernel that computes no products.
    pub fn new(kernel: Kernel, arguments: Arguments, description: impl Into<String>) -> Self {
        Self { kernel, arguments: arguments.finish(), description: description.into(), multiply_accumulates: 0 }
    }
}

/// A way to compute a group. It holds no copy of weights, so all schedules of a method can be kept at once.
pub trait Schedule: Send + Sync {
    /// Returns the requirements to the planner. A schedule without any has no scratch memory, and shares none.
    fn requirements(&self) -> Requirements {
        Requirements::default()
    }

    /// Writes the kernels, in the order of their calls. Memory is planned before. `shared` are the pairs of [`Requirements::may_share`] and
    /// [`Requirements::may_slide`] that do share memory.
    ///
    /// # Errors
    /// [`Unsupported`] if an operation has no lowering.
    fn kernels(&self, shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_memory_of_ranges_lies_at_cache_lines() {
        let needs = Requirements { scratch: vec![100, 64], common: vec![40], ..Requirements::default() };
        assert_eq!(needs.clone().for_ranges(1, Alignment::LINE), needs);
        let of_three = needs.for_ranges(3, Alignment::LINE);
        assert_eq!((of_three.scratch, of_three.common), (vec![384, 192], vec![40]));
    }
}
