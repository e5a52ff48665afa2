//! The 16-bit instructions as a set of words: rows of sums, and the limits of addresses and constants.

use super::inst::{Arg, Inst, Op, Own};
use super::lowering::Baseline;
use super::number::is_byte;
use super::ops::sum_with;
use super::place::{address_in_sums, reaches};
use crate::own::words::{Rows, WordSet, exponent};
use crate::own::{Access, Address, Base};
use crate::thumb::registers::PARAMETERS;
use crate::thumb::rows::{self, Row};
use modelc_kernel::Lane;
use regalloc2::VReg;
use std::ops::Range;

impl WordSet for Baseline {
    type Own = Own;

    const ROWS: Rows<&'static Row> = Rows { sum: &rows::ADD, sum_with: &rows::ADD_TWELVE, product: &rows::MUL };
    const ARGUMENTS: Range<usize> = PARAMETERS;

    fn has_format(&self, _: Lane) -> bool {
        false
    }

    fn sum_row(number: i32) -> Option<(&'static Row, i32)> {
        sum_with(number)
    }

    fn scaled(to: VReg, a: VReg, factor: i64) -> Option<Inst> {
        exponent(factor).map(|count| Inst::row(&rows::LSL_NUMBER, &[Arg::Def(to), Arg::Use(a), Arg::Number(count)]))
    }

    fn address(to: VReg, address: Address) -> Inst {
        // A sum of several steps must not overwrite what a later step reads.
        let def = if address_in_sums(&address) { Arg::EarlyDef(to) } else { Arg::Def(to) };
        Inst::new(Op::LoadAddress, &[def, Arg::Memory(address)])
    }

    fn reaches(address: Address, access: Access) -> bool {
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

    fn compares(number: i32) -> bool {
        is_byte(number)
    }
}
