//! Thumb-2 as a set of words: rows of sums, and the limits of addresses and constants.

use super::access::{float_reaches, reaches};
use super::inst::{Arg, Inst, Own};
use super::lowering::Thumb;
use super::ops::{compares_with, sum_with};
use super::registers::PARAMETERS;
use super::rows::{self, Row};
use super::vectors::Vector;
use crate::own::words::{Filled, Rows, VECTOR, WordSet, exponent};
use crate::own::{Access, Address, Base};
use modelc_kernel::{Lane, Value};
use regalloc2::VReg;
use std::ops::Range;

/// Tests whether all instructions of an access can have their displacements.
fn all_reach(displacement: i64, access: Access) -> bool {
    match access {
        Access::Address => displacement.unsigned_abs() < 1 << 12,
        Access::Memory { unit: VECTOR, bytes } => {
            let ends = [displacement, displacement + i64::from(bytes - VECTOR)].map(i32::try_from);
            ends.into_iter().all(|end| end.is_ok_and(|end| Vector::BYTES.reaches(end)))
        }
        Access::Memory { unit, bytes } => reaches(displacement) && reaches(displacement + i64::from(bytes - unit)),
        Access::Words { bytes } => float_reaches(displacement) && float_reaches(displacement + i64::from(bytes - 4)),
        Access::Pieces { bytes } => reaches(displacement) && reaches(displacement + i64::from(bytes)),
    }
}

impl WordSet for Thumb {
    type Own = Own;

    const ROWS: Rows<&'static Row> = Rows { sum: &rows::ADD, sum_with: &rows::ADD_TWELVE, product: &rows::MUL };
    const ARGUMENTS: Range<usize> = PARAMETERS;

    fn has_format(&self, lane: Lane) -> bool {
        self.formats.contains(&lane)
    }

    fn in_vectors(&self, value: Value) -> Option<Filled> {
        match self.lanes.contains(value) {
            true => Some(Filled::Lanes),
            false => self.vectors.contains(value).then_some(Filled::Bytes),
        }
    }

    fn sum_row(number: i32) -> Option<(&'static Row, i32)> {
        sum_with(number)
    }

    fn scaled(to: VReg, a: VReg, factor: i64) -> Option<Inst> {
        if let Some(count) = exponent(factor) {
            return Some(Inst::row(&rows::LSL_NUMBER, &[Arg::Def(to), Arg::Use(a), Arg::Number(count)]));
        }
        let count = exponent(factor.checked_sub(1)?)?;
        Some(Inst::row(&rows::ADD_LSL, &[Arg::Def(to), Arg::Use(a), Arg::Use(a), Arg::Number(count)]))
    }

    fn reaches(address: Address, access: Access) -> bool {
        match (address.index, access) {
            // The place of stack arrays is not known yet, and vectors reach few bytes.
            (None, Access::Memory { unit: VECTOR, .. }) if !matches!(address.base, Base::Register(_)) => false,
            (None, _) => all_reach(address.displacement.into(), access),
            (Some((_, shift)), Access::Address) => address.displacement == 0 && shift < 4,
            (Some((_, shift)), Access::Memory { unit, bytes }) => {
                address.displacement == 0 && unit == bytes && unit < VECTOR && shift < 4 && matches!(address.base, Base::Register(_))
            }
            (Some(_), _) => false,
        }
    }

    fn compares(number: i32) -> bool {
        compares_with(number)
    }
}
