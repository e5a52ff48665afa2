//! Instructions over virtual registers: operations of this set alone, and the registers that instructions can use.

use crate::own::Address;
use crate::own::words;
pub(super) use crate::own::words::Arg;
use crate::thumb::encode::Flags;
use crate::thumb::registers::{CLOBBERED, GENERAL, LOW};
use crate::thumb::rows::{self, Row};
use regalloc2::{Operand, OperandConstraint, PReg, PRegSet};

/// Operation of an instruction.
pub(super) type Op = words::Op<Own>;
/// An instruction.
pub(super) type Inst = words::Inst<Own>;

/// Operations that are several instructions, so that the allocator puts nothing between them. The comment lists the operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Own {
    /// def, use: the same word, in any registers.
    Copy,
    /// def, memory: a number of bytes, with zeros or the sign above.
    Load(u32, bool),
    /// memory, use: a number of bytes.
    Store(u32),
    /// early def, a, b: 1 if the comparison holds, else 0.
    Truth(Flags),
    /// early def, low and high half of a, those of b: 1 if the comparison of 64 bits holds, else 0.
    LongTruth(Flags),
    /// early def of the low half, def of the high half: a sum or a difference. Its operands are both halves of a, the low half of b, and late its
    /// high half.
    LongSum(bool),
}

impl Inst {
    /// Returns the memory operand.
    pub fn memory(&self) -> Option<&Address> {
        self.args.iter().find_map(|arg| if let Arg::Memory(address) = arg { Some(address) } else { None })
    }

    /// Tests whether an operand, by its position among the registers, can be in a high register. ADD, MOV and CMP of registers take these.
    fn takes_high(&self, place: usize) -> bool {
        let with_number = matches!(self.args.last(), Some(Arg::Number(_)));
        match self.op {
            // The result decides where an overwritten operand is.
            Op::Row(row) => row == &rows::ADD || place == 1 && matches!(self.args.get(1), Some(Arg::Tied(_))),
            Op::Own(Own::Copy) => true,
            Op::Own(Own::Truth(_)) => place > 0 && !with_number,
            Op::Choose(_) => place < 3 || !with_number,
            Op::CompareBranch(_) => !with_number,
            Op::LoadAddress => place > 0 && self.memory().is_some_and(|address| address.index.is_none_or(|(_, shift)| shift == 0)),
            Op::Call(_) => true,
            _ => false,
        }
    }
}

impl words::Operations for Own {
    type Row = &'static Row;
    type Relation = Flags;

    const NOT_EQUAL: Flags = Flags::NotEqual;
    const LESS: Flags = Flags::Less;

    fn limit(inst: &Inst, operands: &mut [Operand]) {
        for (place, operand) in operands.iter_mut().enumerate() {
            if operand.constraint() == OperandConstraint::Reg && !inst.takes_high(place) {
                *operand = Operand::new(operand.vreg(), OperandConstraint::Limit(LOW.end), operand.kind(), operand.pos());
            }
        }
    }

    fn changed(_: bool) -> PRegSet {
        CLOBBERED.into_iter().map(|number| PReg::new(number, GENERAL)).collect()
    }
}
