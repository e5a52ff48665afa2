//! Selection of instructions: sums of indices, addresses and branches. `own/words/` does the rest.

use super::encode::fits;
use super::inst::{Arg, Inst as MachineInst, Op};
use super::jump::Relation;
use super::lowering::{Lowering, Riscv};
use super::registers::GENERAL;
use super::rows::{self, Row};
use crate::codegen::CodegenError;
use crate::codegen::own::words::{Held, Shape};
use crate::codegen::own::{Access, Address, Bound, Select};
use crate::kernel::{Inst, Lane, Type, Value};
use regalloc2::{RegClass, VReg};

fn inst(op: Op, args: &[Arg]) -> MachineInst {
    MachineInst { op, args: args.to_vec() }
}

fn row(row: &'static Row, args: &[Arg]) -> MachineInst {
    inst(Op::Row(row), args)
}

/// The low half of a number: sums wrap.
fn word(number: i64) -> i32 {
    number as i32
}

/// Tells whether all instructions of an access reach their places from a base and a number.
fn all_reach(displacement: i64, access: Access) -> bool {
    let last = match access {
        Access::Address => 0,
        Access::Memory { unit, bytes } => bytes - unit,
        Access::Words { bytes } => bytes - 4,
        Access::Pieces { bytes } => bytes,
    };
    fits(displacement, 12) && fits(displacement + i64::from(last), 12)
}

impl Select for Riscv {
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
        row(&rows::ADD_NUMBER, &[Arg::Def(to), Arg::Use(a), Arg::Number(word(number))])
    }

    fn adds(number: i64) -> bool {
        fits(word(number).into(), 12)
    }

    fn advance(to: VReg, a: VReg, number: i64) -> Option<MachineInst> {
        Self::adds(number).then(|| Self::sum_with(to, a, number))
    }

    fn product(to: VReg, a: VReg, b: VReg) -> MachineInst {
        row(&rows::MUL, &[Arg::Def(to), Arg::Use(a), Arg::Use(b)])
    }

    fn multiple(to: VReg, a: VReg, factor: i64) -> Option<MachineInst> {
        let is_power = factor > 0 && factor & (factor - 1) == 0 && factor < 1 << 32;
        is_power.then(|| row(&rows::SLL_NUMBER, &[Arg::Def(to), Arg::Use(a), Arg::Number(factor.trailing_zeros() as i32)]))
    }

    fn load_address(to: VReg, address: Address) -> MachineInst {
        inst(Op::LoadAddress, &[Arg::Def(to), Arg::Memory(address)])
    }

    fn legal(address: Address, access: Access) -> bool {
        match address.index {
            None => all_reach(address.displacement.into(), access),
            Some((_, shift)) => access == Access::Address && address.displacement == 0 && shift == 0,
        }
    }

    fn jump() -> MachineInst {
        inst(Op::Jump, &[])
    }

    fn branch_if(register: VReg) -> MachineInst {
        inst(Op::CompareBranch(Relation::NotEqual), &[Arg::Use(register), Arg::Number(0)])
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
        inst(Op::CompareBranch(Relation::Less), &[Arg::Use(register), bound])
    }

    fn compares_with(number: i64) -> bool {
        number == 0
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
        Shape::of(ty, self.has_floats).classes(ty.lanes)
    }

    fn held(&self, ty: Type, registers: Vec<VReg>) -> Held {
        Shape::of(ty, self.has_floats).held(registers)
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
