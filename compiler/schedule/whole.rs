//! A group that one kernel computes, called once or for ranges.
//!
//! Kernels say how their rounds divide: see [`crate::kernel::passes::range`]. Independent loops are divided only if memory is planned for threads. A
//! tensor then gets memory of its own if sharing would keep the kernel whole.

use super::arguments::Argument;
use super::context::Context;
use super::interface::{Lowered, Requirements, Schedule};
use super::pair::Pair;
use super::piece::Piece;
use super::unsupported::Unsupported;
use crate::fuse::gathered::is_picked_from;
use crate::fuse::viewed;
use crate::ir::Value;
use crate::kernel::cost::instructions;
use crate::kernel::dependence::Places;
use crate::kernel::passes::range::{self, InRanges};

/// A group with its schedule: see the module.
pub struct Whole<'a> {
    cx: Context<'a>,
    schedule: Box<dyn Schedule + 'a>,
}

impl<'a> Whole<'a> {
    /// Makes a group that `schedule` computes.
    pub fn new(cx: Context<'a>, schedule: Box<dyn Schedule + 'a>) -> Self {
        Self { cx, schedule }
    }

    /// Returns the requirements to the planner for one range.
    pub fn requirements(&self) -> Requirements {
        let mut needs = self.schedule.requirements();
        // A tensor that is also read at other positions than the written one may be read after it is overwritten.
        let group = self.cx.group;
        let in_turn =
            |&Pair { read, .. }: &Pair| !is_picked_from(self.cx.function, &group.insts, read) && !self.is_read_as_another_shape(read);
        needs.may_share.retain(in_turn);
        needs.may_slide.retain(in_turn);
        needs.if_staged.retain(in_turn);
        if self.cx.sharing.is_for_threads() {
            if needs.divides.is_some() {
                needs.may_share.retain(|pair| !needs.whole_only.contains(pair));
            }
            // In sliding pairs, one range would read memory that another has overwritten.
            needs.may_slide.clear();
        }
        needs
    }

    /// Tests whether another operand is a view of a tensor. Schedules tell operands apart by value. The root reads one of the two in its own order,
    /// which is not the order of the results. Without a root, both are read where they are written.
    fn is_read_as_another_shape(&self, tensor: Value) -> bool {
        let Context { function, group, .. } = self.cx;
        let memory = viewed(function, tensor);
        group.root().is_some() && group.inputs(function).into_iter().any(|other| other != tensor && viewed(function, other) == memory)
    }

    /// Returns the number of ranges that need scratch memory.
    pub fn scratch_ranges(&self) -> u64 {
        if self.schedule.requirements().gives_ranges_scratch() { self.cx.sharing.ranges() } else { 1 }
    }

    /// Writes the kernels. `shared` are the pairs that do share memory.
    ///
    /// # Errors
    /// [`Unsupported`] if an operation has no lowering.
    pub fn pieces(&self, shared: &[Pair]) -> Result<Vec<Piece>, Unsupported> {
        Ok(self.schedule.kernels(shared)?.into_iter().map(|lowered| self.piece(lowered, shared)).collect())
    }

    fn piece(&self, mut lowered: Lowered, shared: &[Pair]) -> Piece {
        let most = self.cx.machine.alignment().bytes() as u32;
        lowered.kernel.buffers.iter_mut().for_each(|buffer| buffer.alignment = buffer.alignment.min(most));
        let (mut extent, mut most_ranges) = (None, u64::MAX);
        if let Some(InRanges { kernel, rounds }) = range::of_divide(&lowered.kernel) {
            lowered.kernel = kernel;
            extent = Some(rounds);
        }
        if self.cx.sharing.is_for_threads() {
            let vector_bytes = self.cx.machine.vector_bytes().into();
            let whole: Vec<i64> = extent.map_or(vec![], |extent| vec![0, extent as i64]);
            most_ranges = self.cx.sharing.most_ranges(instructions(&lowered.kernel, &whole, vector_bytes));
            if extent.is_none()
                && most_ranges > 1
                && let Some(InRanges { kernel, rounds }) = range::of_rounds(&lowered.kernel, &places(&lowered.arguments, shared))
            {
                lowered.kernel = kernel;
                extent = Some(rounds);
            }
        }
        Piece { lowered, extent, most_ranges, slices: None }
    }
}

/// Returns the memory of each argument, if pairs of tensors start at the same place. It is numbered by the first argument in it.
fn places(arguments: &[Argument], shared: &[Pair]) -> Places {
    let memory = |argument: &Argument| match argument {
        Argument::Tensor(value) => Some(shared.iter().find(|pair| pair.written == *value).map_or(*value, |pair| pair.read)),
        _ => None,
    };
    let memories: Vec<Option<Value>> = arguments.iter().map(memory).collect();
    let first = |number: usize| memories.iter().position(|other| other.is_some() && *other == memories[number]).unwrap_or(number);
    (0..arguments.len()).map(|number| (first(number), 0)).collect()
}
