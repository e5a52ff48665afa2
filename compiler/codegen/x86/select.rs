//! Instruction selection: the instructions that each kernel instruction becomes.

use super::held::{Bits, Held, Vector, is_general};
use super::inst::{Arg, Arithmetic, Inst as MachineInst, Op, Shift, Width};
use super::lowering::{Lowering, Vectors};
use super::registers::{GENERAL, MASK, PARAMETERS, VECTOR};
use crate::CodegenError;
use crate::bug::{Mistake, Route};
use crate::own::{Access, Address, Base, Select};
use modelc_kernel::{Inst, Lane, Type, Value};
use regalloc2::{PReg, RegClass, VReg};

impl Select for Vectors {
    type Op = Op;
    type Held = Held;

    const SCALARS: RegClass = GENERAL;
    const INDEX: Type = Type::INDEX;

    fn sum(to: VReg, a: VReg, b: VReg) -> MachineInst {
        Self::load_address(to, Address { index: Some((b, 0)), ..Address::at(a) })
    }

    fn sum_with(to: VReg, a: VReg, number: i64) -> MachineInst {
        Self::load_address(to, Address { displacement: number as i32, ..Address::at(a) })
    }

    fn adds(number: i64) -> bool {
        i32::try_from(number).is_ok()
    }

    fn advance(to: VReg, a: VReg, number: i64) -> Option<MachineInst> {
        let number = i32::try_from(number).ok()?;
        Some(MachineInst::new(Op::Arithmetic(Arithmetic::Add), &[Arg::Def(to), Arg::Tied(a), Arg::Number(number)]))
    }

    fn product(to: VReg, a: VReg, b: VReg) -> MachineInst {
        MachineInst::new(Op::Arithmetic(Arithmetic::Multiply), &[Arg::Def(to), Arg::Tied(a), Arg::Use(b)])
    }

    fn multiple(to: VReg, a: VReg, factor: i64) -> Option<MachineInst> {
        if factor > 0 && factor & (factor - 1) == 0 {
            let count = Arg::Number(factor.trailing_zeros() as i32);
            return Some(MachineInst::new(Op::Shift(Shift::Left), &[Arg::Def(to), Arg::Tied(a), count]));
        }
        let small = i32::try_from(factor).ok()?;
        Some(MachineInst::new(Op::Arithmetic(Arithmetic::Multiply), &[Arg::Def(to), Arg::Tied(a), Arg::Number(small)]))
    }

    fn legal(address: Address, access: Access) -> bool {
        let further = match access {
            Access::Address => 0,
            Access::Memory { unit, bytes } => bytes - unit,
            Access::Words { bytes } => bytes,
            Access::Pieces { bytes } => bytes,
        };
        let last = i64::from(address.displacement) + i64::from(further);
        address.index.is_none_or(|(_, shift)| shift <= 3) && i32::try_from(last).is_ok()
    }

    fn branch_if(register: VReg) -> MachineInst {
        MachineInst::new(Op::TestBranch, &[Arg::Use(register)])
    }

    fn compares_with(number: i64) -> bool {
        i32::try_from(number).is_ok()
    }

    fn scalar_of(held: &Held) -> Option<VReg> {
        match held {
            Held::General(register) => Some(*register),
            _ => None,
        }
    }

    fn held_scalar(register: VReg) -> Held {
        Held::General(register)
    }

    fn classes(&self, _: Value, ty: Type) -> Vec<RegClass> {
        let (class, count) = match ty.lane {
            _ if is_general(ty) => (GENERAL, 1),
            Lane::Mask if self.avx512 => (MASK, usize::from(ty.lanes.div_ceil(64))),
            lane => {
                let bytes = if lane == Lane::Mask { 4 } else { lane.bytes() };
                (VECTOR, (u32::from(ty.lanes) * bytes).div_ceil(self.width) as usize)
            }
        };
        vec![class; count]
    }

    fn held(&self, _: Value, ty: Type, parts: Vec<VReg>) -> Held {
        match ty.lane {
            _ if is_general(ty) => Held::General(parts[0]),
            Lane::Mask if self.avx512 => Held::Bits(Bits { lanes: ty.lanes, per: ty.lanes.min(64), parts }),
            Lane::Mask => Held::Vector(Vector { bytes: 4, lanes: ty.lanes, parts }),
            lane => Held::Vector(Vector { bytes: lane.bytes(), lanes: ty.lanes, parts }),
        }
    }

    fn registers(lowering: &mut Lowering<'_>, becomes: Value, held: Held) -> Result<Vec<VReg>, CodegenError> {
        Ok(match held {
            Held::General(register) => vec![register],
            Held::Vector(vector) if lowering.ty(becomes).lane == Lane::Mask => lowering.mask_at(&vector, 4).parts,
            Held::Vector(vector) => vector.parts,
            Held::Bits(bits) => lowering.bits_at(&bits, bits.lanes.min(64)).parts,
        })
    }

    fn enter(lowering: &mut Lowering<'_>) -> Result<(), CodegenError> {
        let parameters = PARAMETERS.map(|number| PReg::new(number, GENERAL));
        lowering.enter_long(&parameters, Op::Load(Width::Quad, false), 64, |_, offset| (Base::Locals, offset))
    }

    fn constant(lowering: &mut Lowering<'_>, ty: Type, bits: u64) -> Result<Held, CodegenError> {
        Ok(lowering.constant_of(ty, bits))
    }

    fn is_folded(&self, value: Value) -> bool {
        self.widened_loads.contains_key(&value) || self.subtracted_masks.contains_key(&value) || self.narrowed_sums.contains_key(&value)
    }

    fn store(lowering: &mut Lowering<'_>, inst: &Inst) -> Result<(), CodegenError> {
        match inst {
            Inst::Store { buffer, index, offset, active, value, mask: None } => lowering.store(*buffer, (*index, *offset), *active, *value),
            Inst::Store { buffer, index, offset, value, mask: Some(mask), .. } => {
                lowering.store_where(*buffer, (*index, *offset), *mask, *value)
            }
            _ => lowering.bug(Mistake::Route(Route::Store)),
        }
    }

    fn value(lowering: &mut Lowering<'_>, inst: &Inst, result: Value) -> Result<Held, CodegenError> {
        let ty = lowering.ty(result);
        match inst {
            Inst::Binary { op, a, b } => lowering.binary(*op, *a, *b),
            Inst::Unary { op, a } => lowering.unary(*op, *a),
            Inst::ShiftConstant { op, a, count } => lowering.shift_constant(*op, *a, u32::from(*count)),
            Inst::Fma { a, b, c, .. } => lowering.fused(*a, *b, *c),
            Inst::Compare { op, a, b } => lowering.compare(*op, *a, *b),
            Inst::Select { mask, a, b } => lowering.select(*mask, *a, *b),
            Inst::Convert { op, a } => lowering.convert(*op, *a, ty),
            Inst::Splat { a } => lowering.splat(*a, ty),
            Inst::Extract { a, lane } => lowering.extract(*a, *lane, ty),
            Inst::Join { a, b } => lowering.join(*a, *b, ty),
            Inst::Part { a, first } => lowering.part(*a, *first, ty),
            Inst::Shuffle { a, b, lanes } => lowering.shuffle(*a, *b, lanes, ty),
            Inst::MulHigh { signed, a, b } => lowering.multiply_high(*signed, *a, *b),
            Inst::SaturatingRoundingDoublingHighMul { a, b, saturates } => lowering.doubling_high_multiply(*a, *b, *saturates),
            Inst::RoundingDivideByPowerOfTwo { a, b } => lowering.rounding_divide(*a, *b),
            Inst::Dot { op, accumulator, a, b } => lowering.dot(*op, *accumulator, *a, *b),
            Inst::Horizontal { op, a } => lowering.horizontal(*op, *a),
            Inst::Load { buffer, index, offset, active, mask: None } => lowering.load(*buffer, (*index, *offset), *active, ty),
            Inst::Load { buffer, index, offset, mask: Some(mask), .. } => lowering.load_where(*buffer, (*index, *offset), *mask, ty),
            Inst::FirstLanes { count } => lowering.first_lanes(*count, ty),
            Inst::LoadSplat { buffer, index, offset } => lowering.load_splat(*buffer, (*index, *offset), 1, ty),
            Inst::LoadSplatGroup { buffer, index, offset, group } => lowering.load_splat(*buffer, (*index, *offset), *group, ty),
            Inst::Gather { buffer, indices, offset, bounds } => lowering.gather(*buffer, (*indices, *offset), *bounds, ty),
            _ => lowering.bug(Mistake::Route(Route::Value)),
        }
    }
}
