//! Instruction selection: the instructions that each kernel instruction becomes.

use super::encode::reaches;
use super::general::sum;
use super::held::{Held, Vector, is_general, lane_bytes, part_count};
use super::inst::{Arg, Inst as MachineInst, Op};
use super::lowering::{Lowering, Neon};
use super::registers::{GENERAL, PARAMETERS, VECTOR};
use super::rows::{self, Row, Size};
use crate::bug::{Mistake, Route};
use crate::own::{Access, Address, Base, Select};
use crate::{CodegenError, Operation};
use modelc_kernel::{Inst, Lane, Type, Value};
use regalloc2::{PReg, RegClass, VReg};

fn general(row: &'static Row, args: &[Arg]) -> MachineInst {
    MachineInst::new(Op::Row(row, Size::D), args)
}

/// Tests whether all instructions of an access can use a base and a displacement.
fn all_reach(displacement: i64, access: Access) -> bool {
    match access {
        Access::Address => displacement.unsigned_abs() < 1 << 24,
        Access::Memory { unit, bytes } => {
            let last = displacement + i64::from(bytes - unit);
            let near = |at: i64| (-256..256).contains(&at);
            reaches(unit, displacement) && reaches(unit, last) && (displacement % i64::from(unit) == 0 || near(displacement) && near(last))
        }
        Access::Words { bytes } => all_reach(displacement, Access::Memory { unit: 4, bytes }),
        Access::Pieces { bytes } => displacement >= -256 && displacement + i64::from(bytes) <= 256,
    }
}

impl Select for Neon {
    type Op = Op;
    type Held = Held;

    const SCALARS: RegClass = GENERAL;
    const INDEX: Type = Type::INDEX;

    fn sum(to: VReg, a: VReg, b: VReg) -> MachineInst {
        general(&rows::ADD_X, &[&[Arg::Def(to)], &sum(a, b)[..]].concat())
    }

    fn sum_with(to: VReg, a: VReg, number: i64) -> MachineInst {
        let near = number.unsigned_abs() < 1 << 12;
        let row = match (number < 0, near) {
            (false, true) => &rows::ADD_NUMBER,
            (true, true) => &rows::SUB_NUMBER,
            (false, false) => &rows::ADD_FAR,
            (true, false) => &rows::SUB_FAR,
        };
        let magnitude = number.unsigned_abs() as i64;
        general(row, &[Arg::Def(to), Arg::Use(a), Arg::Number(if near { magnitude } else { magnitude >> 12 })])
    }

    fn adds(number: i64) -> bool {
        let magnitude = number.unsigned_abs();
        magnitude < 1 << 12 || magnitude < 1 << 24 && magnitude.is_multiple_of(1 << 12)
    }

    fn advance(to: VReg, a: VReg, number: i64) -> Option<MachineInst> {
        Self::adds(number).then(|| Self::sum_with(to, a, number))
    }

    fn product(to: VReg, a: VReg, b: VReg) -> MachineInst {
        general(&rows::MUL_X, &[Arg::Def(to), Arg::Use(a), Arg::Use(b)])
    }

    fn multiple(to: VReg, a: VReg, factor: i64) -> Option<MachineInst> {
        let exponent = |n: i64| (n > 0 && n & (n - 1) == 0).then(|| i64::from(n.trailing_zeros()));
        if let Some(count) = exponent(factor) {
            return Some(general(&rows::UBFM, &[Arg::Def(to), Arg::Use(a), Arg::Number((64 - count) & 63), Arg::Number(63 - count)]));
        }
        let count = exponent(factor.checked_sub(1)?)?;
        Some(general(&rows::ADD_X, &[Arg::Def(to), Arg::Use(a), Arg::Use(a), Arg::Number(count)]))
    }

    fn legal(address: Address, access: Access) -> bool {
        match (address.index, access) {
            (None, _) => all_reach(address.displacement.into(), access),
            (Some(_), Access::Address) => address.displacement == 0,
            (Some((_, shift)), Access::Memory { unit, bytes }) => {
                address.displacement == 0 && unit == bytes && (shift == 0 || 1 << shift == unit)
            }
            (Some(_), Access::Words { .. } | Access::Pieces { .. }) => false,
        }
    }

    fn branch_if(register: VReg) -> MachineInst {
        MachineInst::new(Op::TestBranch, &[Arg::Use(register)])
    }

    fn compares_with(number: i64) -> bool {
        number.unsigned_abs() < 1 << 12
    }

    fn scalar_of(held: &Held) -> Option<VReg> {
        match held {
            Held::General(register) => Some(*register),
            Held::Vector(_) => None,
        }
    }

    fn held_scalar(register: VReg) -> Held {
        Held::General(register)
    }

    fn classes(&self, _: Value, ty: Type) -> Vec<RegClass> {
        if is_general(ty) { vec![GENERAL] } else { vec![VECTOR; part_count(lane_bytes(ty.lane), ty.lanes)] }
    }

    fn held(&self, _: Value, ty: Type, parts: Vec<VReg>) -> Held {
        if is_general(ty) { Held::General(parts[0]) } else { Held::Vector(Vector { bytes: lane_bytes(ty.lane), lanes: ty.lanes, parts }) }
    }

    fn registers(lowering: &mut Lowering<'_>, becomes: Value, held: Held) -> Result<Vec<VReg>, CodegenError> {
        Ok(match held {
            Held::General(register) => vec![register],
            Held::Vector(vector) if lowering.ty(becomes).lane == Lane::Mask => lowering.mask_at(&vector, 4).parts,
            Held::Vector(vector) => vector.parts,
        })
    }

    fn enter(lowering: &mut Lowering<'_>) -> Result<(), CodegenError> {
        let parameters: [PReg; PARAMETERS] = std::array::from_fn(|number| PReg::new(number, GENERAL));
        lowering.enter_long(&parameters, Op::Load(8, false), 16, |lowering, displacement| {
            let address = Address { base: Base::Locals, index: None, displacement };
            (Base::Register(lowering.register_of(address)), 0)
        })
    }

    fn constant(lowering: &mut Lowering<'_>, ty: Type, bits: u64) -> Result<Held, CodegenError> {
        Ok(lowering.constant_of(ty, bits))
    }

    fn is_folded(&self, value: Value) -> bool {
        self.subtracted_masks.contains_key(&value) || self.narrowed_sums.contains_key(&value)
    }

    fn store(lowering: &mut Lowering<'_>, inst: &Inst) -> Result<(), CodegenError> {
        match inst {
            Inst::Store { buffer, index, offset, active, value, mask: None } => lowering.store(*buffer, (*index, *offset), *active, *value),
            Inst::Store { value, .. } => lowering.unsupported(Operation::MaskedStore, lowering.ty(*value)),
            _ => lowering.bug(Mistake::Route(Route::Store)),
        }
    }

    fn value(lowering: &mut Lowering<'_>, inst: &Inst, result: Value) -> Result<Held, CodegenError> {
        let ty = lowering.ty(result);
        match inst {
            Inst::Binary { op, a, b } => lowering.binary(*op, *a, *b),
            Inst::Unary { op, a } => lowering.unary(*op, *a),
            Inst::ShiftConstant { op, a, count } => lowering.shift_constant(*op, *a, u32::from(*count)),
            Inst::Fma { a, b, c, rounding } => lowering.fused([*a, *b, *c], *rounding),
            Inst::Compare { op, a, b } => lowering.compare(*op, *a, *b),
            Inst::Select { mask, a, b } => lowering.select(*mask, *a, *b),
            Inst::Convert { op, a } => lowering.convert(*op, *a, ty),
            Inst::Splat { a } => lowering.splat(*a, ty),
            Inst::Extract { a, lane } => lowering.extract(*a, *lane, ty),
            Inst::Join { a, b } => lowering.join(*a, *b, ty),
            Inst::Part { a, first } => lowering.part(*a, *first, ty),
            Inst::Shuffle { a, b, lanes } => lowering.shuffle(*a, *b, lanes, ty),
            Inst::MulHigh { signed, a, b } => lowering.multiply_high(*signed, *a, *b),
            Inst::SaturatingRoundingDoublingHighMul { a, b, .. } => lowering.doubling_high_multiply(*a, *b),
            Inst::RoundingDivideByPowerOfTwo { a, b } => lowering.rounding_divide(*a, *b),
            Inst::Dot { op, accumulator, a, b } => lowering.dot(*op, *accumulator, *a, *b),
            Inst::Horizontal { op, a } => lowering.horizontal(*op, *a),
            Inst::Load { buffer, index, offset, active, mask: None } => lowering.load(*buffer, (*index, *offset), *active, ty),
            Inst::FirstLanes { .. } => lowering.unsupported(Operation::FirstLanes, ty),
            Inst::Load { .. } => lowering.unsupported(Operation::MaskedLoad, ty),
            Inst::LoadSplat { buffer, index, offset } => lowering.load_splat(*buffer, (*index, *offset), 1, ty),
            Inst::LoadSplatGroup { buffer, index, offset, group } => lowering.load_splat(*buffer, (*index, *offset), *group, ty),
            Inst::Gather { buffer, indices, offset, bounds } => lowering.gather(*buffer, (*indices, *offset), *bounds, ty),
            _ => lowering.bug(Mistake::Route(Route::Value)),
        }
    }
}
