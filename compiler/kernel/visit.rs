//! What an instruction reads and what it holds.

use super::types::{Buffer, Inst, Kernel, Region, Value};

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
}

impl Inst {
    /// The values it reads itself, without those that its regions read.
    pub fn operands(&self) -> Vec<Value> {
        match self {
            Self::Constant { .. } => vec![],
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
}
