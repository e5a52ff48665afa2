//! Selection of instructions for sums of indices, addresses and branches. `own/words/` lowers everything else.

use super::inst::{Arg, Inst as MachineInst, Op};
use super::lowering::{Baseline, Lowering};
use super::number::is_byte;
use super::ops::sum_with;
use super::place::{address_in_sums, reaches};
use crate::codegen::CodegenError;
use crate::codegen::own::words::{Held, Shape};
use crate::codegen::own::{Access, Address, Base, Bound, Select};
use crate::codegen::thumb::encode::Flags;
use crate::codegen::thumb::registers::GENERAL;
use crate::codegen::thumb::rows::{self, Row};
use crate::kernel::{Inst, Lane, Type, Value};
use regalloc2::{RegClass, VReg};

fn inst(op: Op, args: &[Arg]) -> MachineInst {
    MachineInst { op, args: args.to_vec() }
}

fn row(row: &'static Row, args: &[Arg]) -> MachineInst {
    inst(Op::Row(row), args)
}

/// Returns the low 32 bits of a constant, because sums wrap.
fn word(number: i64) -> i32 {
    number as i32
}

impl Select for Baseline {
    type Inst = MachineInst;
    type Held = Held;

    const SCALARS: RegClass = GENERAL;
    const INDEX: Type = Type::scalar(Lane::I32);

    fn number(to: VReg, number: i64) -> MachineInst {
        inst(Op::Constant(word(number)), &[Arg::Def(to)])
    }

    fn sum(to: VReg, a: VReg, b: VReg) -> MachineInst {
        row(&rows::ADD, &[Arg::Def(to), Arg::Use(a), Arg::Use(b)])
    }

    fn sum_with(to: VReg, a: VReg, number: i64) -> MachineInst {
        let (sum, number) = sum_with(word(number)).unwrap_or((&rows::ADD_TWELVE, word(number)));
        row(sum, &[Arg::Def(to), Arg::Use(a), Arg::Number(number)])
    }

    fn adds(number: i64) -> bool {
        sum_with(word(number)).is_some()
    }

    fn advance(to: VReg, a: VReg, number: i64) -> Option<MachineInst> {
        Self::adds(number).then(|| Self::sum_with(to, a, number))
    }

    fn product(to: VReg, a: VReg, b: VReg) -> MachineInst {
        row(&rows::MUL, &[Arg::Def(to), Arg::Use(a), Arg::Use(b)])
    }

    fn multiple(to: VReg, a: VReg, factor: i64) -> Option<MachineInst> {
        let is_power = factor > 0 && factor & (factor - 1) == 0 && factor < 1 << 32;
        is_power.then(|| row(&rows::LSL_NUMBER, &[Arg::Def(to), Arg::Use(a), Arg::Number(factor.trailing_zeros() as i32)]))
    }

    fn load_address(to: VReg, address: Address) -> MachineInst {
        // A sum of several steps must not overwrite what a later step reads.
        let def = if address_in_sums(&address) { Arg::EarlyDef(to) } else { Arg::Def(to) };
        inst(Op::LoadAddress, &[def, Arg::Memory(address)])
    }

    fn legal(address: Address, access: Access) -> bool {
        let is_register = matches!(address.base, Base::Register(_));
        match (address.index, access) {
            (None, Access::Address) => address.displacement.unsigned_abs() < 256,
            (None, Access::Memory { unit, bytes }) => is_register && reaches(address.displacement, unit, bytes),
            (None, Access::Words { bytes }) => is_register && reaches(address.displacement, 4, bytes),
            (Some((_, shift)), Access::Address) => address.displacement == 0 && shift == 0,
            (Some((_, shift)), Access::Memory { unit, bytes }) => address.displacement == 0 && unit == bytes && shift == 0 && is_register,
            (_, Access::Pieces { .. }) | (Some(_), Access::Words { .. }) => false,
        }
    }

    fn jump() -> MachineInst {
        inst(Op::Jump, &[])
    }

    fn branch_if(register: VReg) -> MachineInst {
        inst(Op::CompareBranch(Flags::NotEqual), &[Arg::Use(register), Arg::Number(0)])
    }

    fn branch_on(lowering: &mut Lowering<'_>, condition: Value) -> Result<MachineInst, CodegenError> {
        let test = lowering.condition(condition)?;
        Ok(lowering.branch_by(test))
    }

    fn branch_if_less(register: VReg, bound: Bound) -> MachineInst {
        let bound = match bound {
            Bound::Register(bound) => Arg::Use(bound),
            Bound::Number(number) => Arg::Number(word(number)),
        };
        inst(Op::CompareBranch(Flags::Less), &[Arg::Use(register), bound])
    }

    fn compares_with(number: i64) -> bool {
        i32::try_from(number).is_ok_and(is_byte)
    }

    fn leave(status: i32) -> MachineInst {
        inst(Op::Return(status), &[])
    }

    fn scalar_of(held: &Held) -> Option<VReg> {
        held.single()
    }

    fn held_scalar(register: VReg) -> Held {
        Held::word(register)
    }

    fn classes(&self, ty: Type) -> Vec<RegClass> {
        Shape::of(ty, false).classes(ty.lanes)
    }

    fn held(&self, ty: Type, registers: Vec<VReg>) -> Held {
        Shape::of(ty, false).held(registers)
    }

    fn registers(lowering: &mut Lowering<'_>, ty: Type, held: Held) -> Vec<VReg> {
        lowering.handed_on(ty, held)
    }

    fn enter(lowering: &mut Lowering<'_>) -> Result<(), CodegenError> {
        lowering.enter_words()
    }

    fn constant(lowering: &mut Lowering<'_>, ty: Type, bits: u64) -> Held {
        lowering.constant_words(ty, bits)
    }

    fn is_folded(&self, _: Value) -> bool {
        false
    }

    fn value(lowering: &mut Lowering<'_>, inst: &Inst, result: Value) -> Result<Held, CodegenError> {
        lowering.word_value(inst, result)
    }

    fn store(lowering: &mut Lowering<'_>, inst: &Inst) -> Result<(), CodegenError> {
        lowering.word_store(inst)
    }
}
