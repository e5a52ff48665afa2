//! The 16-bit instructions as a set whose loops step pointers.

use super::inst::{Arg, Inst, Op, Own};
use super::lowering::Baseline;
use super::place::reaches;
use crate::codegen::own::words::{Made, Stepped};
use crate::codegen::own::{Address, Base};
use crate::codegen::thumb::encode::Flags;
use crate::codegen::thumb::rows;
use regalloc2::VReg;

/// Returns the bytes that a load or a store moves.
fn moved(inst: &Inst) -> Option<u32> {
    match inst.op {
        Op::Own(Own::Load(bytes, _) | Own::Store(bytes)) => Some(bytes),
        _ => None,
    }
}

impl Stepped for Baseline {
    const BELOW: Flags = Flags::Below;
    const NEGATIVE: bool = false;

    fn made(inst: &Inst) -> Option<(VReg, Made)> {
        let Op::Row(row) = inst.op else { return None };
        match inst.args[..] {
            [Arg::Def(to), Arg::Use(a), Arg::Use(b)] if row == &rows::ADD => Some((to, Made::Sum(a, b))),
            [Arg::Def(to), Arg::Use(a), Arg::Use(b)] if row == &rows::MUL => Some((to, Made::Product(a, b))),
            [Arg::Def(to), Arg::Use(a), Arg::Number(count)] if row == &rows::LSL_NUMBER => Some((to, Made::Shifted(a, count as u8))),
            [Arg::Def(to), Arg::Use(a), Arg::Number(number)] if row == &rows::ADD_TWELVE => Some((to, Made::SumWith(a, number))),
            [Arg::Def(to), Arg::Use(a), Arg::Number(number)] if row == &rows::SUB_TWELVE => Some((to, Made::SumWith(a, -number))),
            _ => None,
        }
    }

    fn steps(inst: &Inst) -> bool {
        moved(inst).is_some()
    }

    fn can_be_at(inst: &Inst, displacement: i32) -> bool {
        moved(inst).is_some_and(|bytes| reaches(displacement, bytes, bytes))
    }

    fn computes(address: Address) -> bool {
        let is_register = matches!(address.base, Base::Register(_));
        is_register && address.index.is_none_or(|(_, shift)| shift == 0 || address.displacement == 0)
    }
}
