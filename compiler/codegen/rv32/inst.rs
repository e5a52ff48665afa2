//! Instructions over virtual registers. Memory stands for a number and a base in a row, and the number 0 for a register is x0.

use super::jump::Relation;
use super::registers::{CHANGED, CHANGED_SINGLES, GENERAL, RA, SINGLE};
use super::rows::Row;
use crate::own::words;
pub(super) use crate::own::words::Arg;
use regalloc2::{PReg, PRegSet};

/// Operation of an instruction.
pub(super) type Op = words::Op<Own>;
/// An instruction.
pub(super) type Inst = words::Inst<Own>;

/// Operations that only RISC-V has: none.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Own {}

impl words::Operations for Own {
    type Row = &'static Row;
    type Relation = Relation;

    const NOT_EQUAL: Relation = Relation::NotEqual;
    const LESS: Relation = Relation::Less;

    fn changed(by_own: bool) -> PRegSet {
        let words = CHANGED.into_iter().flatten().chain([usize::from(RA)]).map(|number| PReg::new(number, GENERAL));
        let floats = CHANGED_SINGLES.into_iter().flatten().filter(|_| !by_own).map(|number| PReg::new(number, SINGLE));
        words.chain(floats).collect()
    }
}
