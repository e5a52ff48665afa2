//! Visitors: the operands, regions and buffers of instructions.

use super::{Bounds, Buffer, BufferKind, Inst, Kernel, Region, Statement, Value, Values};
use cranelift_entity::EntityRef;
use rustc_hash::FxHashSet;
use smallvec::smallvec;

impl Kernel {
    /// Returns all regions of the kernel, in no particular order.
    pub fn regions(&self) -> impl Iterator<Item = &Region> {
        let mut left = vec![&self.body];
        std::iter::from_fn(move || {
            let region = left.pop()?;
            left.extend(region.statements.iter().flat_map(|statement| statement.inst.regions()));
            Some(region)
        })
    }

    /// Returns the local arrays that a region writes. Each independent round or range has its own copy of them.
    pub fn arrays_written_in(&self, region: &Region) -> Vec<Buffer> {
        let mut written = FxHashSet::default();
        region.for_each(&mut |inst| {
            if let Inst::Store { buffer, .. } = inst {
                written.insert(*buffer);
            }
        });
        let arrays = (0..self.buffers.len()).map(Buffer::new).filter(|buffer| self.buffer(*buffer).kind == BufferKind::Local);
        arrays.filter(|buffer| written.contains(buffer)).collect()
    }

    /// Returns the statements of all regions, in no particular order.
    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.regions().flat_map(|region| &region.statements)
    }

    /// Tests whether the kernel reads a buffer.
    pub fn reads(&self, buffer: Buffer) -> bool {
        self.statements().any(|statement| statement.inst.buffer() == Some(buffer) && !matches!(statement.inst, Inst::Store { .. }))
    }

    /// Tests whether the kernel writes a buffer.
    pub fn writes(&self, buffer: Buffer) -> bool {
        self.statements().any(|statement| matches!(statement.inst, Inst::Store { buffer: written, .. } if written == buffer))
    }

    /// Tests whether the kernel clamps indices of a buffer to its ends.
    pub fn clamps(&self, buffer: Buffer) -> bool {
        let clamps = |inst: &Inst| matches!(inst, Inst::Gather { bounds: Bounds::Clamp, .. }) && inst.buffer() == Some(buffer);
        self.statements().any(|statement| clamps(&statement.inst))
    }

    /// Removes buffers that are not kept, and renumbers the others. No instruction may access a removed buffer.
    pub fn retain_buffers(&mut self, keeps: impl Fn(Buffer) -> bool) {
        let mut left = 0;
        let mut places = Vec::with_capacity(self.buffers.len());
        let old = std::mem::take(&mut self.buffers);
        for (number, data) in old.into_iter().enumerate() {
            places.push(Buffer::new(left));
            if keeps(Buffer::new(number)) {
                self.buffers.push(data);
                left += 1;
            }
        }
        self.body.for_each_statement_mut(&mut |statement| {
            statement.inst.buffers_mut().into_iter().for_each(|buffer| *buffer = places[buffer.index()]);
        });
    }

    /// Redirects accesses of `buffer` to `to`, which may be the same buffer, and moves them by a number of elements.
    pub fn move_accesses(&mut self, buffer: Buffer, to: Buffer, elements: i64) {
        self.body.for_each_statement_mut(&mut |statement| {
            if statement.inst.buffer() != Some(buffer) {
                return;
            }
            if let Some((_, offset)) = statement.inst.place_mut() {
                *offset += elements;
            }
            if let Some(named) = statement.inst.buffer_mut() {
                *named = to;
            }
        });
    }
}

/// Consecutive elements that an instruction reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// Index of the first element, without the offset.
    pub index: Value,
    /// Constant that is added to the index.
    pub offset: i64,
    /// Number of elements.
    pub elements: u16,
    /// `true` if the elements are written.
    pub stores: bool,
}

impl Region {
    /// Calls `visit` for the instructions of all statements, and of the regions inside them.
    pub fn for_each<'r>(&'r self, visit: &mut impl FnMut(&'r Inst)) {
        self.statements.iter().for_each(|statement| statement.for_each(visit));
    }

    /// Calls `change` for all statements. A statement comes before the statements of its regions.
    pub fn for_each_statement_mut(&mut self, change: &mut impl FnMut(&mut Statement)) {
        for statement in &mut self.statements {
            change(statement);
            for region in statement.inst.regions_mut() {
                region.for_each_statement_mut(change);
            }
        }
    }
}

impl Statement {
    /// Calls `visit` for the statement's instruction and the instructions of its regions.
    pub fn for_each<'s>(&'s self, visit: &mut impl FnMut(&'s Inst)) {
        visit(&self.inst);
        self.inst.regions().into_iter().for_each(|inner| inner.for_each(visit));
    }
}

impl Inst {
    /// Tests whether an instruction has an effect besides its results.
    pub fn has_effect(&self) -> bool {
        let inside = |region: &&Region| region.statements.iter().any(|statement| statement.inst.has_effect());
        matches!(self, Self::Store { .. } | Self::FailIf { .. } | Self::Barrier) || self.regions().iter().any(inside)
    }

    /// Returns the elements that the instruction may access, if they are consecutive. This holds for all accesses except gathers. A mask may leave
    /// some out.
    pub fn run(&self) -> Option<Run> {
        let (index, offset, elements, stores) = match *self {
            Self::Load { index, offset, active, .. } => (index, offset, active, false),
            Self::LoadSplat { index, offset, .. } => (index, offset, 1, false),
            Self::LoadSplatGroup { index, offset, group, .. } => (index, offset, group, false),
            Self::Store { index, offset, active, .. } => (index, offset, active, true),
            _ => return None,
        };
        Some(Run { index, offset, elements, stores })
    }

    /// Returns the values that the instruction itself reads, without the values that its regions read.
    pub fn operands(&self) -> Values {
        match self {
            Self::Constant { .. } | Self::Barrier => smallvec![],
            Self::Unary { a, .. }
            | Self::ShiftConstant { a, .. }
            | Self::Convert { a, .. }
            | Self::Splat { a }
            | Self::Extract { a, .. }
            | Self::Part { a, .. }
            | Self::Horizontal { a, .. } => smallvec![*a],
            Self::Binary { a, b, .. }
            | Self::Compare { a, b, .. }
            | Self::Join { a, b }
            | Self::Shuffle { a, b, .. }
            | Self::MulHigh { a, b, .. }
            | Self::SaturatingRoundingDoublingHighMul { a, b, .. }
            | Self::RoundingDivideByPowerOfTwo { a, b } => smallvec![*a, *b],
            Self::Fma { a, b, c, .. } => smallvec![*a, *b, *c],
            Self::Select { mask, a, b } => smallvec![*mask, *a, *b],
            Self::Dot { accumulator, a, b, .. } => smallvec![*accumulator, *a, *b],
            Self::LoadSplat { index, .. } | Self::LoadSplatGroup { index, .. } => smallvec![*index],
            Self::FirstLanes { count } => smallvec![*count],
            Self::Load { index, mask, .. } => [*index].into_iter().chain(*mask).collect(),
            Self::Gather { indices, .. } => smallvec![*indices],
            Self::Store { index, value, mask, .. } => [*index, *value].into_iter().chain(*mask).collect(),
            Self::For { start, end, carried, .. } => [*start, *end].into_iter().chain(carried.iter().copied()).collect(),
            Self::Divide { extent, .. } => smallvec![*extent],
            Self::Loop { carried, .. } => carried.iter().copied().collect(),
            Self::If { condition, .. } | Self::FailIf { condition, .. } => smallvec![*condition],
        }
    }

    /// Returns mutable references to [`Inst::operands`].
    pub fn operands_mut(&mut self) -> Vec<&mut Value> {
        match self {
            Self::Constant { .. } | Self::Barrier => vec![],
            Self::Unary { a, .. }
            | Self::ShiftConstant { a, .. }
            | Self::Convert { a, .. }
            | Self::Splat { a }
            | Self::Extract { a, .. }
            | Self::Part { a, .. }
            | Self::Horizontal { a, .. } => vec![a],
            Self::Binary { a, b, .. }
            | Self::Compare { a, b, .. }
            | Self::Join { a, b }
            | Self::Shuffle { a, b, .. }
            | Self::MulHigh { a, b, .. }
            | Self::SaturatingRoundingDoublingHighMul { a, b, .. }
            | Self::RoundingDivideByPowerOfTwo { a, b } => vec![a, b],
            Self::Fma { a, b, c, .. } => vec![a, b, c],
            Self::Select { mask, a, b } => vec![mask, a, b],
            Self::Dot { accumulator, a, b, .. } => vec![accumulator, a, b],
            Self::LoadSplat { index, .. } | Self::LoadSplatGroup { index, .. } => vec![index],
            Self::FirstLanes { count } => vec![count],
            Self::Load { index, mask, .. } => [index].into_iter().chain(mask).collect(),
            Self::Gather { indices, .. } => vec![indices],
            Self::Store { index, value, mask, .. } => [index, value].into_iter().chain(mask).collect(),
            Self::For { start, end, carried, .. } => [start, end].into_iter().chain(carried).collect(),
            Self::Divide { extent, .. } => vec![extent],
            Self::Loop { carried, .. } => carried.iter_mut().collect(),
            Self::If { condition, .. } | Self::FailIf { condition, .. } => vec![condition],
        }
    }

    /// Returns the regions of the instruction.
    pub fn regions(&self) -> Vec<&Region> {
        match self {
            Self::For { body, .. } | Self::Loop { body, .. } | Self::Divide { body, .. } => vec![body],
            Self::If { then, otherwise, .. } => vec![then, otherwise],
            _ => vec![],
        }
    }

    /// Returns the regions of the instruction as mutable references.
    pub fn regions_mut(&mut self) -> Vec<&mut Region> {
        match self {
            Self::For { body, .. } | Self::Loop { body, .. } | Self::Divide { body, .. } => vec![body],
            Self::If { then, otherwise, .. } => vec![then, otherwise],
            _ => vec![],
        }
    }

    /// Returns the buffer that the instruction reads or writes.
    pub fn buffer(&self) -> Option<Buffer> {
        match self {
            Self::Load { buffer, .. }
            | Self::LoadSplat { buffer, .. }
            | Self::LoadSplatGroup { buffer, .. }
            | Self::Gather { buffer, .. }
            | Self::Store { buffer, .. } => Some(*buffer),
            _ => None,
        }
    }

    /// Returns the buffer that the instruction reads or writes, as a mutable reference.
    pub fn buffer_mut(&mut self) -> Option<&mut Buffer> {
        match self {
            Self::Load { buffer, .. }
            | Self::LoadSplat { buffer, .. }
            | Self::LoadSplatGroup { buffer, .. }
            | Self::Gather { buffer, .. }
            | Self::Store { buffer, .. } => Some(buffer),
            _ => None,
        }
    }

    /// Returns the buffers that the instruction names, as mutable references: the accessed one, or those that are private to rounds or ranges.
    pub fn buffers_mut(&mut self) -> Vec<&mut Buffer> {
        match self {
            Self::For { private, .. } | Self::Divide { private, .. } => private.iter_mut().collect(),
            inst => inst.buffer_mut().into_iter().collect(),
        }
    }

    /// Returns the index and the offset of an access, as mutable references.
    pub fn place_mut(&mut self) -> Option<(&mut Value, &mut i64)> {
        match self {
            Self::Load { index, offset, .. }
            | Self::LoadSplat { index, offset, .. }
            | Self::LoadSplatGroup { index, offset, .. }
            | Self::Gather { indices: index, offset, .. }
            | Self::Store { index, offset, .. } => Some((index, offset)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BinaryOp, Rounding};

    #[test]
    fn operands_are_the_same_to_be_read_and_to_be_changed() {
        let [a, b, c] = [0, 1, 2].map(Value::new);
        let buffer = Buffer::new(0);
        let insts = [
            Inst::Constant { bits: 0 },
            Inst::Binary { op: BinaryOp::Add, a, b },
            Inst::Fma { a, b, c, rounding: Rounding::Nearest },
            Inst::Select { mask: a, a: b, b: c },
            Inst::FirstLanes { count: a },
            Inst::Load { buffer, index: b, offset: 0, active: 4, mask: Some(c) },
            Inst::Store { buffer, index: b, offset: 0, active: 1, value: a, mask: None },
            Inst::Store { buffer, index: b, offset: 0, active: 4, value: a, mask: Some(c) },
            Inst::For { start: a, end: b, step: 1, each: false, private: vec![], carried: vec![c, a], body: Region::default() },
            Inst::Divide { extent: b, private: vec![buffer], body: Region::default() },
            Inst::Loop { carried: vec![c, a], body: Region::default() },
            Inst::FailIf { condition: c, status: 1 },
        ];
        for mut inst in insts {
            let read = inst.operands();
            assert_eq!(inst.operands_mut().into_iter().map(|value| *value).collect::<Values>(), read);
        }
    }
}
