//! What an instruction reads and what it holds.

use super::{Bounds, Buffer, Inst, Kernel, Region, Statement, Value, Values};
use cranelift_entity::EntityRef;
use smallvec::smallvec;

impl Kernel {
    /// All its regions, in no order.
    pub fn regions(&self) -> impl Iterator<Item = &Region> {
        let mut left = vec![&self.body];
        std::iter::from_fn(move || {
            let region = left.pop()?;
            left.extend(region.statements.iter().flat_map(|statement| statement.inst.regions()));
            Some(region)
        })
    }

    /// The statements of all its regions, in no order.
    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.regions().flat_map(|region| &region.statements)
    }

    /// Whether it reads a buffer.
    pub fn reads(&self, buffer: Buffer) -> bool {
        self.statements().any(|statement| statement.inst.buffer() == Some(buffer) && !matches!(statement.inst, Inst::Store { .. }))
    }

    /// Whether it writes a buffer.
    pub fn writes(&self, buffer: Buffer) -> bool {
        self.statements().any(|statement| matches!(statement.inst, Inst::Store { buffer: written, .. } if written == buffer))
    }

    /// Whether indices outside a buffer mean its ends.
    pub fn clamps(&self, buffer: Buffer) -> bool {
        let clamps = |inst: &Inst| matches!(inst, Inst::Gather { bounds: Bounds::Clamp, .. }) && inst.buffer() == Some(buffer);
        self.statements().any(|statement| clamps(&statement.inst))
    }

    /// Keeps some of its buffers; nothing touches the others. Those that are left have the numbers before theirs.
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
            if let Some(buffer) = statement.inst.buffer_mut() {
                *buffer = places[buffer.index()];
            }
        });
    }

    /// Makes accesses of a buffer go to elements of another one, or of itself, this many further on.
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

/// Elements that lie side by side, as an instruction reads or writes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// Where the first is, and what is added to that.
    pub index: Value,
    /// See `index`.
    pub offset: i64,
    /// How many there are.
    pub elements: u16,
    /// Whether they are written.
    pub stores: bool,
}

impl Region {
    /// Calls `visit` for the instructions of all statements and of the regions that they hold.
    pub fn for_each<'r>(&'r self, visit: &mut impl FnMut(&'r Inst)) {
        self.statements.iter().for_each(|statement| statement.for_each(visit));
    }

    /// Calls `change` for all statements, those of regions after the one that holds them.
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
    /// Calls `visit` for its instruction and those of the regions that it holds.
    pub fn for_each<'s>(&'s self, visit: &mut impl FnMut(&'s Inst)) {
        visit(&self.inst);
        self.inst.regions().into_iter().for_each(|inner| inner.for_each(visit));
    }
}

impl Inst {
    /// Whether it does something besides giving results.
    pub fn has_effect(&self) -> bool {
        let inside = |region: &&Region| region.statements.iter().any(|statement| statement.inst.has_effect());
        matches!(self, Self::Store { .. } | Self::FailIf { .. } | Self::Barrier) || self.regions().iter().any(inside)
    }

    /// The elements that it may read or write, if they lie side by side: all accesses but gathers. A mask may leave some out.
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

    /// The values it reads itself, without those that its regions read.
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
            Self::Loop { carried, .. } => carried.iter().copied().collect(),
            Self::If { condition, .. } | Self::FailIf { condition, .. } => smallvec![*condition],
        }
    }

    /// [`Inst::operands`], to be changed.
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
            Self::Loop { carried, .. } => carried.iter_mut().collect(),
            Self::If { condition, .. } | Self::FailIf { condition, .. } => vec![condition],
        }
    }

    /// The regions it holds.
    pub fn regions(&self) -> Vec<&Region> {
        match self {
            Self::For { body, .. } | Self::Loop { body, .. } => vec![body],
            Self::If { then, otherwise, .. } => vec![then, otherwise],
            _ => vec![],
        }
    }

    /// The regions it holds, to be changed.
    pub fn regions_mut(&mut self) -> Vec<&mut Region> {
        match self {
            Self::For { body, .. } | Self::Loop { body, .. } => vec![body],
            Self::If { then, otherwise, .. } => vec![then, otherwise],
            _ => vec![],
        }
    }

    /// The buffer it reads or writes.
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

    /// The buffer it reads or writes, to be changed.
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

    /// The index and the offset of what it reads or writes, to be changed.
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
    use crate::kernel::{BinaryOp, Rounding};

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
            Inst::For { start: a, end: b, step: 1, carried: vec![c, a], body: Region::default() },
            Inst::Loop { carried: vec![c, a], body: Region::default() },
            Inst::FailIf { condition: c, status: 1 },
        ];
        for mut inst in insts {
            let read = inst.operands();
            assert_eq!(inst.operands_mut().into_iter().map(|value| *value).collect::<Values>(), read);
        }
    }
}
