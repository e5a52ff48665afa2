//! Thumb-2 as a set whose loops step pointers.

use super::encode::Flags;
use super::inst::{Arg, Inst, Op};
use super::lowering::Thumb;
use super::rows;
use crate::codegen::own::Address;
use crate::codegen::own::words::{Made, Stepped};
use regalloc2::VReg;

impl Stepped for Thumb {
    const BELOW: Flags = Flags::Below;
    const NEGATIVE: bool = true;

    fn made(inst: &Inst) -> Option<(VReg, Made)> {
        let Op::Row(row) = inst.op else { return None };
        let is = |rows: [&rows::Row; 2]| rows.contains(&row);
        match inst.args[..] {
            [Arg::Def(to), Arg::Use(a), Arg::Use(b)] if row == &rows::ADD => Some((to, Made::Sum(a, b))),
            [Arg::Def(to), Arg::Use(a), Arg::Use(b)] if row == &rows::MUL => Some((to, Made::Product(a, b))),
            [Arg::Def(to), Arg::Use(a), Arg::Use(b), Arg::Use(sum)] if row == &rows::MLA => Some((to, Made::SumOfProduct(a, b, sum))),
            [Arg::Def(to), Arg::Use(a), Arg::Use(b), Arg::Number(count)] if row == &rows::ADD_LSL => {
                Some((to, Made::SumShifted(a, b, count as u8)))
            }
            [Arg::Def(to), Arg::Use(a), Arg::Number(count)] if row == &rows::LSL_NUMBER => Some((to, Made::Shifted(a, count as u8))),
            [Arg::Def(to), Arg::Use(a), Arg::Number(number)] if is([&rows::ADD_TWELVE, &rows::ADD_NUMBER]) => {
                Some((to, Made::SumWith(a, number)))
            }
            [Arg::Def(to), Arg::Use(a), Arg::Number(number)] if is([&rows::SUB_TWELVE, &rows::SUB_NUMBER]) => {
                Some((to, Made::SumWith(a, number.wrapping_neg())))
            }
            _ => None,
        }
    }

    fn steps(inst: &Inst) -> bool {
        inst.moved().is_some() || inst.is_of_vector()
    }

    fn can_be_at(inst: &Inst, displacement: i32) -> bool {
        inst.reaches(displacement)
    }

    fn reaches_few(inst: &Inst) -> bool {
        inst.is_of_vector()
    }

    fn computes(address: Address) -> bool {
        address.index.is_none_or(|(_, shift)| shift < 4)
    }
}
