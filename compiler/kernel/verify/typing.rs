//! Type rules of instructions without regions: types of operands and results.

use super::{Check, Rule, Verifier, expect};
use crate::*;
use cranelift_entity::EntityRef;

impl Verifier<'_> {
    /// Checks operands, numbers and the declared type of the result.
    pub(super) fn typing(&self, inst: &Inst, result: Option<Type>) -> Check {
        let wants_result = !matches!(inst, Inst::Store { .. } | Inst::FailIf { .. } | Inst::Barrier);
        match result {
            Some(ty) if wants_result => self.of_value(inst, ty),
            None if !wants_result => self.of_effect(inst),
            _ => Err(if wants_result { Rule::NoResult } else { Rule::ResultOfEffect }),
        }
    }

    /// Checks instructions without a result.
    fn of_effect(&self, inst: &Inst) -> Check {
        match inst {
            Inst::Store { buffer, index, active, value, mask, .. } => {
                let ty = self.ty(*value)?;
                self.mask_of(*mask, ty)?;
                self.index(*index)?;
                self.element(*buffer, ty)?;
                active_lanes(*active, ty)
            }
            Inst::FailIf { condition, status } => {
                self.is(*condition, Type::scalar(Lane::Mask))?;
                require(*status != 0, Rule::StatusZero)
            }
            _ => Ok(()),
        }
    }

    /// Checks instructions with a result of type `ty`.
    fn of_value(&self, inst: &Inst, ty: Type) -> Check {
        match inst {
            Inst::Constant { bits } => fits(*bits, ty.lane),
            Inst::Binary { op, a, b } => {
                self.all(&[*a, *b], ty)?;
                require(takes_binary(*op, ty.lane), Rule::Binary(*op, ty))
            }
            Inst::Unary { op, a } => {
                self.is(*a, ty)?;
                require(takes_unary(*op, ty.lane), Rule::Unary(*op, ty))
            }
            Inst::ShiftConstant { op, a, count } => {
                self.is(*a, ty)?;
                require(is_shift(*op) && ty.lane.is_integer(), Rule::Shift(*op, ty))?;
                require(u32::from(*count) < 8 * ty.lane.bytes(), Rule::ShiftCount { ty, count: *count })
            }
            Inst::Fma { a, b, c, rounding } => {
                self.all(&[*a, *b, *c], ty)?;
                let takes = ty.lane == Lane::F32 || ty.lane.is_float() && *rounding == Rounding::Nearest;
                require(takes, Rule::Fused(ty))
            }
            Inst::Compare { op, a, b } => self.compare(*op, *a, *b, ty),
            Inst::Select { mask, a, b } => {
                self.is(*mask, ty.with_lane(Lane::Mask))?;
                self.all(&[*a, *b], ty)
            }
            Inst::Convert { op, a } => {
                let from = self.ty(*a)?;
                require(from.lanes == ty.lanes && converts(*op, from.lane, ty.lane), Rule::Convert { op: *op, from, to: ty })
            }
            Inst::MulHigh { a, b, .. }
            | Inst::SaturatingRoundingDoublingHighMul { a, b, .. }
            | Inst::RoundingDivideByPowerOfTwo { a, b } => {
                self.all(&[*a, *b], ty)?;
                require(ty.lane == Lane::I32, Rule::FixedPoint(ty))
            }
            Inst::Dot { op, accumulator, a, b } => self.dot(*op, *accumulator, [*a, *b], ty),
            Inst::Horizontal { op, a } => {
                let from = self.ty(*a)?;
                require(ty == Type::scalar(from.lane) && ty.lane != Lane::Mask, Rule::Horizontal { op: *op, from, to: ty })
            }
            Inst::FirstLanes { count } => {
                self.is(*count, Type::INDEX)?;
                require(ty.lane == Lane::Mask, Rule::FirstLanes(ty))
            }
            Inst::Splat { .. } | Inst::Extract { .. } | Inst::Join { .. } | Inst::Part { .. } | Inst::Shuffle { .. } => {
                self.permutation(inst, ty)
            }
            Inst::Load { .. } | Inst::LoadSplat { .. } | Inst::LoadSplatGroup { .. } | Inst::Gather { .. } => self.load(inst, ty),
            Inst::Store { .. }
            | Inst::For { .. }
            | Inst::Divide { .. }
            | Inst::Loop { .. }
            | Inst::If { .. }
            | Inst::FailIf { .. }
            | Inst::Barrier => Ok(()),
        }
    }

    fn dot(&self, op: DotOp, accumulator: Value, factors: [Value; 2], ty: Type) -> Check {
        self.is(accumulator, Type::vector(op.sum_lane(), ty.lanes))?;
        self.is(accumulator, ty)?;
        require(!op.is_of_squares() || ty.lanes.is_multiple_of(4), Rule::Squares(ty))?;
        self.all(&factors, op.operand_type(ty.lanes))
    }

    fn compare(&self, op: CompareOp, a: Value, b: Value, ty: Type) -> Check {
        let from = self.ty(a)?;
        self.is(b, from)?;
        let unsigned = matches!(op, CompareOp::UnsignedLess | CompareOp::UnsignedLessEqual);
        let takes = from.lane.is_integer() || from.lane.is_float() && !unsigned;
        require(takes && ty == from.with_lane(Lane::Mask), Rule::Compare { op, from, to: ty })
    }

    /// Checks instructions that move lanes.
    fn permutation(&self, inst: &Inst, ty: Type) -> Check {
        match inst {
            Inst::Splat { a } => self.is(*a, Type::scalar(ty.lane)),
            Inst::Extract { a, lane } => {
                let from = self.ty(*a)?;
                require(ty == Type::scalar(from.lane) && *lane < from.lanes, Rule::Extract { lane: *lane, from, to: ty })
            }
            Inst::Join { a, b } => {
                require(ty.lanes > 1, Rule::Join)?;
                self.all(&[*a, *b], Type::vector(ty.lane, ty.lanes / 2))
            }
            Inst::Part { a, first } => {
                let from = self.ty(*a)?;
                let fits = first % ty.lanes == 0 && u32::from(*first) + u32::from(ty.lanes) <= u32::from(from.lanes);
                require(fits && ty.lane == from.lane, Rule::Part { from, first: *first, to: ty })
            }
            Inst::Shuffle { a, b, lanes } => {
                let from = self.ty(*a)?;
                self.is(*b, from)?;
                let fits = lanes.len() == usize::from(ty.lanes) && ty.lane == from.lane;
                require(fits, Rule::Shuffle { lanes: lanes.len(), from, to: ty })?;
                let beyond = lanes.iter().find(|&&lane| u32::from(lane) >= 2 * u32::from(from.lanes));
                beyond.map_or(Ok(()), |&lane| Err(Rule::ShuffledLane { lane, from }))
            }
            _ => Ok(()),
        }
    }

    /// Checks the mask of an access to lanes of a type, if it has one.
    fn mask_of(&self, mask: Option<Value>, ty: Type) -> Check {
        mask.map_or(Ok(()), |mask| self.is(mask, Type::vector(Lane::Mask, ty.lanes)))
    }

    /// Checks instructions that read memory.
    fn load(&self, inst: &Inst, ty: Type) -> Check {
        match inst {
            Inst::Load { buffer, index, active, mask, .. } => {
                self.index(*index)?;
                self.mask_of(*mask, ty)?;
                self.element(*buffer, ty)?;
                active_lanes(*active, ty)
            }
            Inst::LoadSplat { buffer, index, .. } => {
                self.index(*index)?;
                self.element(*buffer, ty)
            }
            Inst::LoadSplatGroup { buffer, index, group, .. } => {
                self.index(*index)?;
                self.element(*buffer, ty)?;
                let fits = group.is_power_of_two() && *group <= ty.lanes;
                require(fits, Rule::Group { group: *group, ty })
            }
            Inst::Gather { buffer, indices, offset, bounds } => {
                let from = self.ty(*indices)?;
                self.element(*buffer, ty)?;
                let fits = from.lanes == ty.lanes && matches!(from.lane, Lane::I8 | Lane::I32 | Lane::I64);
                require(fits, Rule::Indices { from, ty })?;
                if from.lane == Lane::I8 { self.bytes_lie_inside(*buffer, *offset, *bounds) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// Checks that a buffer has an element for every value of an i8 index plus an offset.
    fn bytes_lie_inside(&self, buffer: Buffer, offset: i64, bounds: Bounds) -> Check {
        let last = self.kernel.buffer(buffer).elements as i64 - 1;
        let inside = offset >= 128 && offset.saturating_add(127) <= last;
        require(inside && bounds == Bounds::Proven, Rule::ByteIndices { elements: last + 1, offset })
    }

    /// Checks that a buffer has elements of a type's lane.
    fn element(&self, buffer: Buffer, ty: Type) -> Check {
        let data = self.kernel.buffers.get(buffer.index()).ok_or(Rule::NoBuffer(buffer))?;
        if data.lane == ty.lane { Ok(()) } else { Err(Rule::Element { ty, buffer: data.name.clone(), lane: Type::scalar(data.lane) }) }
    }

    /// Checks that a value is an index. Returns its type.
    pub(super) fn index(&self, value: Value) -> Check<Type> {
        let ty = self.ty(value)?;
        if ty.is_index() { Ok(ty) } else { Err(Rule::NoIndex { value, ty }) }
    }

    fn all(&self, values: &[Value], ty: Type) -> Check {
        values.iter().try_for_each(|&value| expect(value, self.ty(value)?, ty))
    }
}

fn require(holds: bool, rule: Rule) -> Check {
    if holds { Ok(()) } else { Err(rule) }
}

/// Checks that the bits of a constant fit a lane.
fn fits(bits: u64, lane: Lane) -> Check {
    let width = if lane == Lane::Mask { 1 } else { 8 * lane.bytes() };
    require(width == 64 || bits >> width == 0, Rule::Constant(width))
}

fn active_lanes(active: u16, ty: Type) -> Check {
    require((1..=ty.lanes).contains(&active), Rule::ActiveLanes { active, lanes: ty.lanes })
}

fn is_shift(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRightSigned | BinaryOp::ShiftRightUnsigned)
}

fn takes_binary(op: BinaryOp, lane: Lane) -> bool {
    match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => lane != Lane::Mask,
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => !lane.is_float(),
        BinaryOp::SignedAddSaturating | BinaryOp::SignedSubSaturating => matches!(lane, Lane::I8 | Lane::I16),
        BinaryOp::FloatDiv
        | BinaryOp::FloatMinFirst
        | BinaryOp::FloatMaxFirst
        | BinaryOp::FloatMinPropagate
        | BinaryOp::FloatMaxPropagate
        | BinaryOp::FloatMinIgnore
        | BinaryOp::FloatMaxIgnore => lane.is_float(),
        BinaryOp::FloatScale => lane == Lane::F32,
        BinaryOp::ShiftNearest => lane == Lane::I32,
        BinaryOp::SignedAddInRange
        | BinaryOp::SignedDiv
        | BinaryOp::UnsignedDiv
        | BinaryOp::SignedRem
        | BinaryOp::UnsignedRem
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRightSigned
        | BinaryOp::ShiftRightUnsigned
        | BinaryOp::SignedMin
        | BinaryOp::SignedMax
        | BinaryOp::UnsignedMin
        | BinaryOp::UnsignedMax => lane.is_integer(),
    }
}

fn takes_unary(op: UnaryOp, lane: Lane) -> bool {
    match op {
        UnaryOp::Neg | UnaryOp::Abs => lane != Lane::Mask,
        UnaryOp::Not => !lane.is_float(),
        UnaryOp::Sqrt | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::Nearest => lane.is_float(),
        UnaryOp::CountLeadingZeros => lane.is_integer(),
    }
}

fn converts(op: ConvertOp, from: Lane, to: Lane) -> bool {
    let integers = from.is_integer() && to.is_integer();
    match op {
        ConvertOp::SignExtend | ConvertOp::ZeroExtend => integers && from.bytes() < to.bytes(),
        ConvertOp::Wrap | ConvertOp::NarrowSigned | ConvertOp::NarrowUnsigned => integers && from.bytes() > to.bytes(),
        ConvertOp::SignedToFloat | ConvertOp::UnsignedToFloat => from.is_integer() && to.is_float(),
        ConvertOp::FloatToSigned | ConvertOp::FloatToUnsigned => from.is_float() && to.is_integer(),
        ConvertOp::FloatToSignedInRange => from.is_float() && to.is_integer() && from.bytes() == to.bytes(),
        ConvertOp::Promote => from == Lane::F32 && to == Lane::F64,
        ConvertOp::Demote => from == Lane::F64 && to == Lane::F32,
        ConvertOp::HalfToFloat => from == Lane::I16 && to == Lane::F32,
        ConvertOp::FloatToHalf => from == Lane::F32 && to == Lane::I16,
        ConvertOp::Bitcast => from != Lane::Mask && to != Lane::Mask && from.bytes() == to.bytes(),
        ConvertOp::MaskToInteger => from == Lane::Mask && to.is_integer(),
    }
}
