//! What an instruction reads and what it holds.

use super::types::{Bounds, Buffer, Inst, Kernel, Region, Statement, Value};

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

    /// Whether it writes a buffer.
    pub fn writes(&self, buffer: Buffer) -> bool {
        let writes = |statement: &Statement| matches!(statement.inst, Inst::Store { buffer: written, .. } if written == buffer);
        self.regions().any(|region| region.statements.iter().any(writes))
    }

    /// Whether indices outside a buffer mean its ends.
    pub fn clamps(&self, buffer: Buffer) -> bool {
        let clamps = |inst: &Inst| matches!(inst, Inst::Gather { bounds: Bounds::Clamp, .. }) && inst.buffer() == Some(buffer);
        self.regions().any(|region| region.statements.iter().any(|statement| clamps(&statement.inst)))
    }
}

impl Region {
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

impl Inst {
    /// The values it reads itself, without those that its regions read.
    pub fn operands(&self) -> Vec<Value> {
        match self {
            Self::Constant { .. } | Self::Barrier => vec![],
            Self::Unary { a, .. }
            | Self::ShiftConstant { a, .. }
            | Self::Convert { a, .. }
            | Self::Splat { a }
            | Self::Extract { a, .. }
            | Self::Part { a, .. }
            | Self::Horizontal { a, .. } => vec![*a],
            Self::Binary { a, b, .. }
            | Self::Compare { a, b, .. }
            | Self::Join { a, b }
            | Self::Shuffle { a, b, .. }
            | Self::MulHighUnsigned { a, b }
            | Self::SaturatingRoundingDoublingHighMul { a, b, .. }
            | Self::RoundingDivideByPowerOfTwo { a, b } => vec![*a, *b],
            Self::Fma { a, b, c, .. } => vec![*a, *b, *c],
            Self::Select { mask, a, b } => vec![*mask, *a, *b],
            Self::Dot { accumulator, a, b, .. } => vec![*accumulator, *a, *b],
            Self::Load { index, .. } | Self::LoadSplat { index, .. } | Self::LoadSplatGroup { index, .. } => vec![*index],
            Self::Gather { indices, .. } => vec![*indices],
            Self::Store { index, value, .. } => vec![*index, *value],
            Self::For { start, end, carried, .. } => [*start, *end].into_iter().chain(carried.iter().copied()).collect(),
            Self::Loop { carried, .. } => carried.clone(),
            Self::If { condition, .. } | Self::FailIf { condition, .. } => vec![*condition],
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
            | Self::MulHighUnsigned { a, b }
            | Self::SaturatingRoundingDoublingHighMul { a, b, .. }
            | Self::RoundingDivideByPowerOfTwo { a, b } => vec![a, b],
            Self::Fma { a, b, c, .. } => vec![a, b, c],
            Self::Select { mask, a, b } => vec![mask, a, b],
            Self::Dot { accumulator, a, b, .. } => vec![accumulator, a, b],
            Self::Load { index, .. } | Self::LoadSplat { index, .. } | Self::LoadSplatGroup { index, .. } => vec![index],
            Self::Gather { indices, .. } => vec![indices],
            Self::Store { index, value, .. } => vec![index, value],
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
    use cranelift_entity::EntityRef;

    #[test]
    fn operands_are_the_same_to_be_read_and_to_be_changed() {
        let [a, b, c] = [0, 1, 2].map(Value::new);
        let buffer = Buffer::new(0);
        let insts = [
            Inst::Constant { bits: 0 },
            Inst::Binary { op: BinaryOp::Add, a, b },
            Inst::Fma { a, b, c, rounding: Rounding::Nearest },
            Inst::Select { mask: a, a: b, b: c },
            Inst::Store { buffer, index: b, offset: 0, active: 1, value: a },
            Inst::For { start: a, end: b, step: 1, carried: vec![c, a], body: Region::default() },
            Inst::Loop { carried: vec![c, a], body: Region::default() },
            Inst::FailIf { condition: c, status: 1 },
        ];
        for mut inst in insts {
            let read = inst.operands();
            assert_eq!(inst.operands_mut().into_iter().map(|value| *value).collect::<Vec<_>>(), read);
        }
    }
}
