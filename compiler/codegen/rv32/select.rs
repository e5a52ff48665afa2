//! 32-bit RISC-V as a set of words: rows of sums, and the limits of addresses and constants.

use super::encode::fits;
use super::inst::{Arg, Inst, Own};
use super::lowering::Riscv;
use super::registers::PARAMETERS;
use super::rows::{self, Row};
use crate::own::words::{Rows, WordSet, exponent};
use crate::own::{Access, Address};
use modelc_kernel::Lane;
use regalloc2::VReg;
use std::ops::Range;

/// Tests whether all instructions of an access can have their displacements.
fn all_reach(displacement: i64, access: Access) -> bool {
    let last = match access {
        Access::Address => 0,
        Access::Memory { unit, bytes } => bytes - unit,
        Access::Words { bytes } => bytes - 4,
        Access::Pieces { bytes } => bytes,
    };
    fits(displacement, 12) && fits(displacement + i64::from(last), 12)
}

impl WordSet for Riscv {
    type Own = Own;

    const ROWS: Rows<&'static Row> = Rows { sum: &rows::ADD, sum_with: &rows::ADD_NUMBER, product: &rows::MUL };
    const ARGUMENTS: Range<usize> = PARAMETERS;

    fn has_format(&self, lane: Lane) -> bool {
        lane == Lane::F32 && self.has_floats
    }

    fn sum_row(number: i32) -> Option<(&'static Row, i32)> {
        fits(number.into(), 12).then_some((&rows::ADD_NUMBER, number))
    }

    fn scaled(to: VReg, a: VReg, factor: i64) -> Option<Inst> {
        exponent(factor).map(|count| Inst::row(&rows::SLL_NUMBER, &[Arg::Def(to), Arg::Use(a), Arg::Number(count)]))
    }

    fn reaches(address: Address, access: Access) -> bool {
        match address.index {
            None => all_reach(address.displacement.into(), access),
            Some((_, shift)) => access == Access::Address && address.displacement == 0 && shift == 0,
        }
    }

    fn compares(number: i32) -> bool {
        number == 0
    }
}
