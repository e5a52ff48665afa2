//! Thumb-2 as a set whose loops step pointers.

use super::encode::Flags;
use super::inst::Inst;
use super::lowering::Thumb;
use super::rows::{self, Row};
use crate::own::Address;
use crate::own::words::{Stepped, Term};

impl Stepped for Thumb {
    const BELOW: Flags = Flags::Below;
    const NEGATIVE: bool = true;
    const TERMS: &[(&Row, Term)] = &[
        (&rows::ADD, Term::Sum),
        (&rows::MUL, Term::Product),
        (&rows::MLA, Term::SumOfProduct),
        (&rows::ADD_LSL, Term::SumShifted),
        (&rows::LSL_NUMBER, Term::Shifted),
        (&rows::ADD_TWELVE, Term::SumWith),
        (&rows::ADD_NUMBER, Term::SumWith),
        (&rows::SUB_TWELVE, Term::DifferenceWith),
        (&rows::SUB_NUMBER, Term::DifferenceWith),
    ];

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
