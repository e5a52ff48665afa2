//! RISC-V as a set whose loops step pointers.

use super::encode::fits;
use super::inst::{Arg, Inst};
use super::jump::Relation;
use super::lowering::Riscv;
use super::rows::{self, Row};
use crate::own::words::{Stepped, Term};
use crate::own::{Address, Base};

impl Stepped for Riscv {
    const BELOW: Relation = Relation::Below;
    const NEGATIVE: bool = true;
    const TERMS: &[(&Row, Term)] =
        &[(&rows::ADD, Term::Sum), (&rows::MUL, Term::Product), (&rows::SLL_NUMBER, Term::Shifted), (&rows::ADD_NUMBER, Term::SumWith)];

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
