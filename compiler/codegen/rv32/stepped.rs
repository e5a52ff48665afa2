//! RISC-V as a set whose loops step pointers.

use super::encode::fits;
use super::inst::{Arg, Inst, Op};
use super::jump::Relation;
use super::lowering::Riscv;
use super::rows;
use crate::codegen::own::words::{Made, Stepped};
use crate::codegen::own::{Address, Base};
use regalloc2::VReg;

impl Stepped for Riscv {
    const BELOW: Relation = Relation::Below;
    const NEGATIVE: bool = true;

    fn made(inst: &Inst) -> Option<(VReg, Made)> {
        let Op::Row(row) = inst.op else { return None };
        match inst.args[..] {
            [Arg::Def(to), Arg::Use(a), Arg::Use(b)] if row == &rows::ADD => Some((to, Made::Sum(a, b))),
            [Arg::Def(to), Arg::Use(a), Arg::Use(b)] if row == &rows::MUL => Some((to, Made::Product(a, b))),
            [Arg::Def(to), Arg::Use(a), Arg::Number(count)] if row == &rows::SLL_NUMBER => Some((to, Made::Shifted(a, count as u8))),
            [Arg::Def(to), Arg::Use(a), Arg::Number(number)] if row == &rows::ADD_NUMBER => Some((to, Made::SumWith(a, number))),
            _ => None,
        }
    }

    fn steps(inst: &Inst) -> bool {
        inst.args.iter().any(|arg| matches!(arg, Arg::Memory(_)))
    }

    fn can_be_at(_: &Inst, displacement: i32) -> bool {
        fits(displacement.into(), 12)
    }

    fn computes(address: Address) -> bool {
        matches!(address.base, Base::Register(_)) && address.index.is_none_or(|(_, shift)| shift == 0)
    }
}
