//! Instructions over virtual registers: output of the lowering, input of the register allocator.

use super::encode::Flags;
use super::rows::{Row, Size};
use crate::own::{self, Flow, Instruction, has_locals, registers_of};
use regalloc2::Operand;

/// A function of these instructions.
pub(super) type Function = own::Function<Inst>;

/// An operand. Operands are in the order of Arm's manual.
pub(super) type Arg = own::Arg<i64>;

/// The operation of an instruction; the comment lists its operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Op {
    /// The instruction of a row.
    Row(&'static Row, Size),
    /// Fixed definitions: the incoming parameters.
    Parameters,
    /// def: a 64-bit constant.
    Constant(i64),
    /// def: a 64-bit pattern in each half of a vector register, which one instruction can make.
    Pattern(u64),
    /// def, memory: the address.
    LoadAddress,
    /// def, memory: a load of this number of bytes to a general-purpose register, extended with sign if `true`, else with zeros.
    Load(u32, bool),
    /// memory, use: a store of this number of bytes of a general-purpose register.
    Store(u32),
    /// def, memory: a load of this number of bytes to a vector register, with zeros above.
    LoadVector(u32),
    /// def, memory: a load of a whole vector register from memory that is read-only in the kernel.
    LoadInput,
    /// def, def, memory: a load of two whole vector registers.
    LoadPair,
    /// four fixed defs, memory: a load of four 64-bit elements, each repeated in a register. The registers are neighbours, and the address is a
    /// register.
    LoadFour,
    /// memory, use: a store of this number of bytes of a vector register.
    StoreVector(u32),
    /// memory, use, use: a store of two whole vector registers.
    StorePair,
    /// def, a, b: 1 if the comparison of a with b holds, else 0.
    CompareSet(Flags),
    /// def, chosen, otherwise, a, b: chosen if the comparison of a with b holds, else otherwise.
    CompareSelect(Flags),
    /// Jump to the first block.
    Jump,
    /// a, b: to the first block if the comparison of a with b holds, else to the second.
    CompareBranch(Flags),
    /// use: to the first block if it is not 0, else to the second.
    TestBranch,
    /// Return of a status.
    Return(i32),
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct Inst {
    /// The operation.
    pub op: Op,
    /// Its operands.
    pub args: Vec<Arg>,
}

impl Instruction for Inst {
    fn operands(&self, list: &mut Vec<Operand>) {
        registers_of(&self.args, list);
    }

    fn flow(&self) -> Flow {
        match self.op {
            Op::Jump => Flow::Jump,
            Op::CompareBranch(_) | Op::TestBranch => Flow::Branch,
            Op::Return(_) => Flow::Return,
            Op::Parameters => Flow::Straight { pure: false },
            Op::Row(row, _) => Flow::Straight { pure: row.pure },
            _ => Flow::Straight { pure: matches!(self.args.first(), Some(Arg::Def(_))) },
        }
    }

    fn reads_locals(&self) -> bool {
        self.op != Op::LoadAddress && has_locals(&self.args)
    }
}
