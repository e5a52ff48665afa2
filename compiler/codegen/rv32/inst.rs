//! Instructions over virtual registers: what the lowering writes, and what of it the register allocator reads.

use super::jump::Relation;
use super::registers::{CHANGED, CHANGED_SINGLES, GENERAL, RA, SINGLE};
use super::rows::Row;
use crate::codegen::RelocationTarget;
pub(super) use crate::codegen::own::words::Arg;
use crate::codegen::own::words::registers_of;
use crate::codegen::own::{Flow, Instruction};
use regalloc2::{Operand, PReg, PRegSet};

/// Operation of an instruction; the comment is its operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Op {
    /// A row's instruction. Memory stands for a number and a base; the number 0 for a register is x0.
    Row(&'static Row),
    /// Parameters arrive: fixed definitions.
    Parameters,
    /// def: a number.
    Constant(i32),
    /// def, memory: the address.
    LoadAddress,
    /// def, tied otherwise, chosen, a, b: chosen where a stands so to b.
    Choose(Relation),
    /// Jumps to the first block.
    Jump,
    /// a, b: to the first block if a stands so to b, else to the second.
    CompareBranch(Relation),
    /// Returns a status.
    Return(i32),
    /// def: the address of data or of a function, so many bytes further on.
    Refer(RelocationTarget, u64),
    /// use: an argument on the stack, by its number.
    Pass(u32),
    /// def, arguments: calls a function; without a name, that at the address in the first register after the result.
    Call(Option<RelocationTarget>),
    /// Returns what the first registers hold.
    ReturnWith,
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct Inst {
    /// Operation.
    pub op: Op,
    /// Operands.
    pub args: Vec<Arg>,
}

impl Instruction for Inst {
    fn operands(&self, list: &mut Vec<Operand>) {
        registers_of(&self.args, list);
    }

    fn flow(&self) -> Flow {
        match self.op {
            Op::Jump => Flow::Jump,
            Op::CompareBranch(_) => Flow::Branch,
            Op::Return(_) | Op::ReturnWith => Flow::Return,
            Op::Parameters | Op::Call(_) => Flow::Straight { pure: false },
            _ => Flow::Straight { pure: matches!(self.args.first(), Some(Arg::Def(_))) },
        }
    }

    /// Registers that functions may change, but the result.
    fn clobbers(&self) -> PRegSet {
        let Op::Call(callee) = self.op else { return PRegSet::empty() };
        let words = CHANGED.into_iter().flatten().chain([usize::from(RA)]).map(|number| PReg::new(number, GENERAL));
        let is_result = |register: &PReg| self.args.iter().any(|arg| matches!(arg, Arg::FixedDef(_, result) if result == register));
        // Functions of the object have no floats.
        let is_own = matches!(callee, Some(RelocationTarget::Support(_)));
        let floats = CHANGED_SINGLES.into_iter().flatten().filter(|_| !is_own).map(|number| PReg::new(number, SINGLE));
        words.filter(|word| !is_result(word)).chain(floats).collect()
    }
}
