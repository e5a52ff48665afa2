//! Instructions over virtual registers, and the registers that they can use.

use crate::codegen::RelocationTarget;
pub(super) use crate::codegen::own::words::Arg;
use crate::codegen::own::words::registers_of;
use crate::codegen::own::{Address, Flow, Instruction};
use crate::codegen::thumb::encode::Flags;
use crate::codegen::thumb::registers::{CLOBBERED, GENERAL, LOW};
use crate::codegen::thumb::rows::{self, Row};
use regalloc2::{Operand, OperandConstraint, PReg, PRegSet};

/// Operation of an instruction. The comment lists its operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Op {
    /// A row's instruction.
    Row(&'static Row),
    /// Parameters arrive: fixed definitions.
    Parameters,
    /// def: a constant.
    Constant(i32),
    /// def, memory: the address.
    LoadAddress,
    /// def, memory: a number of bytes, with zeros or the sign above.
    Load(u32, bool),
    /// memory, use: a number of bytes.
    Store(u32),
    /// early def, a, b: 1 if the comparison holds, else 0.
    Truth(Flags),
    /// early def, low and high half of a, those of b: 1 if the comparison of 64 bits holds, else 0.
    LongTruth(Flags),
    /// early def of the low half, def of the high half, low and high half of a, low half of b, late use of its high half: a sum or a difference.
    LongSum(bool),
    /// def, tied otherwise, chosen, a, b: chosen if the comparison holds.
    Choose(Flags),
    /// Jump to the first block.
    Jump,
    /// a, b: jump to the first block if the comparison holds, else to the second.
    CompareBranch(Flags),
    /// Return with a status.
    Return(i32),
    /// def: the address of data or of a function, plus an offset.
    Refer(RelocationTarget, u64),
    /// use: an argument on the stack, by its number.
    Pass(u32),
    /// def, arguments: call of a function. Without a target, the function's address is in the first register after the result.
    Call(Option<RelocationTarget>),
    /// Return with the values of fixed registers.
    ReturnWith,
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct Inst {
    /// The operation.
    pub op: Op,
    /// The operands.
    pub args: Vec<Arg>,
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
            Op::Truth(_) => place > 0 && !with_number,
            Op::Choose(_) => place < 3 || !with_number,
            Op::CompareBranch(_) => !with_number,
            Op::LoadAddress => place > 0 && self.memory().is_some_and(|address| address.index.is_none_or(|(_, shift)| shift == 0)),
            Op::Call(_) => true,
            _ => false,
        }
    }
}

impl Instruction for Inst {
    fn operands(&self, list: &mut Vec<Operand>) {
        let start = list.len();
        registers_of(&self.args, list);
        for (place, operand) in list[start..].iter_mut().enumerate() {
            if operand.constraint() == OperandConstraint::Reg && !self.takes_high(place) {
                *operand = Operand::new(operand.vreg(), OperandConstraint::Limit(LOW.end), operand.kind(), operand.pos());
            }
        }
    }

    fn flow(&self) -> Flow {
        match self.op {
            Op::Jump => Flow::Jump,
            Op::CompareBranch(_) => Flow::Branch,
            Op::Return(_) | Op::ReturnWith => Flow::Return,
            Op::Parameters | Op::Call(_) => Flow::Straight { pure: false },
            _ => Flow::Straight { pure: matches!(self.args.first(), Some(Arg::Def(_) | Arg::EarlyDef(_))) },
        }
    }

    fn clobbers(&self) -> PRegSet {
        let Op::Call(_) = self.op else { return PRegSet::empty() };
        let is_result = |register: &PReg| self.args.iter().any(|arg| matches!(arg, Arg::FixedDef(_, result) if result == register));
        CLOBBERED.into_iter().map(|number| PReg::new(number, GENERAL)).filter(|word| !is_result(word)).collect()
    }
}
