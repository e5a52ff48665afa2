//! What a schedule is: it says what it needs, and writes a kernel.

use super::arguments::Argument;
use super::unsupported::Unsupported;
use crate::ir::Value;
use crate::kernel::Kernel;
use crate::program::ALIGNMENT;

/// What a schedule needs from the planner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Bytes of each scratch buffer, aligned to a cache line.
    pub scratch: Vec<u64>,
    /// Bytes of each buffer that all parts of a kernel share, and all kernels of a group, aligned likewise.
    pub common: Vec<u64>,
    /// A tensor read and a tensor written that may start at the same address if the one read dies here: the schedule reads
    /// every byte before it, or anything after it, is written.
    pub may_share: Vec<(Value, Value)>,
    /// A tensor read and a tensor written that may start at the same address, or at a lower one, if the one read dies here: byte *i* of it
    /// is read before byte *i* is written.
    pub may_slide: Vec<(Value, Value)>,
    /// Pairs that [`Self::may_share`] has, or would have, because rows are staged for that alone: see
    /// [`Context::stages`](super::Context::stages).
    pub if_staged: Vec<(Value, Value)>,
    /// Elements that are moved more where a row is computed in short sections, of which less is staged at once: see
    /// [`Context::in_short_sections`](super::Context::in_short_sections). None where there are none, and where they are short already.
    pub shorter: Option<u64>,
}

impl Requirements {
    /// What serves both of two schedules of a group.
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
        self
    }

    /// The same with scratch memory for this number of parts.
    #[must_use]
    pub fn for_parts(mut self, parts: u64) -> Self {
        if parts > 1 {
            self.scratch.iter_mut().for_each(|bytes| *bytes = bytes.next_multiple_of(ALIGNMENT) * parts);
        }
        self
    }
}

/// A kernel with its arguments.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The kernel; its name is a stem without the operator number.
    pub kernel: Kernel,
    /// One a pointer parameter.
    pub arguments: Vec<Argument>,
    /// The schedule and its choices, for reports.
    pub description: String,
    /// Multiply-accumulate operations.
    pub multiply_accumulates: u64,
}

/// A way to compute a group. It holds no copy of weights, so that all schedules of a method are kept at once.
pub trait Schedule: Send + Sync {
    /// What the planner must provide.
    fn requirements(&self) -> Requirements;

    /// The kernel. `shared` are the pairs of [`Requirements::may_share`] and [`Requirements::may_slide`] that do share memory.
    ///
    /// # Errors
    /// When an operation has no lowering.
    fn lower(&self, shared: &[(Value, Value)]) -> Result<Lowered, Unsupported>;

    /// A kernel that runs after all parts of the other one.
    ///
    /// # Errors
    /// As [`Schedule::lower`].
    fn lower_last(&self) -> Result<Option<Lowered>, Unsupported> {
        Ok(None)
    }

    /// The extent of what may be cut to ranges, for each of which the kernel runs by itself: it then has two integers, the first of a range and
    /// the first after it. None where the work is too little, or a part would read what another writes.
    fn extent(&self, _shared: &[(Value, Value)]) -> Option<u64> {
        None
    }

    /// Whether each round of the loops of the kernel writes what it reads of scratch memory, so that rounds need nothing of each other but
    /// what buffers of tensors tell.
    fn writes_scratch_first(&self) -> bool {
        false
    }
}

/// Kernels of fewer multiply-accumulate operations are not cut where nothing is said of threads: some ten microseconds of work are as long as it takes to wake a thread.
pub const CUT_FROM: u64 = 1 << 18;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_memory_of_parts_lies_at_cache_lines() {
        let needs = Requirements { scratch: vec![100, 64], common: vec![40], ..Requirements::default() };
        assert_eq!(needs.clone().for_parts(1), needs);
        let of_three = needs.for_parts(3);
        assert_eq!((of_three.scratch, of_three.common), (vec![384, 192], vec![40]));
    }
}
