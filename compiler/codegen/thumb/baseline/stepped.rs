//! The 16-bit instructions as a set whose loops step pointers.

use super::inst::{Inst, Op, Own};
use super::lowering::Baseline;
use super::place::reaches;
use crate::own::words::{Stepped, Term};
use crate::own::{Address, Base};
use crate::thumb::encode::Flags;
use crate::thumb::rows::{self, Row};

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
    const TERMS: &[(&Row, Term)] = &[
        (&rows::ADD, Term::Sum),
        (&rows::MUL, Term::Product),
        (&rows::LSL_NUMBER, Term::Shifted),
        (&rows::ADD_TWELVE, Term::SumWith),
        (&rows::SUB_TWELVE, Term::DifferenceWith),
    ];

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
