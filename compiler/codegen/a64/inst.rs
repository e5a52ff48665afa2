//! Instructions over virtual registers: output of the lowering, input of the register allocator.

use super::encode::Flags;
use super::rows::{Row, Size};
use crate::own::{self, Flow, Opcode};

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
pub(super) type Inst = own::Inst<Op>;

impl Opcode for Op {
    type Number = i64;

    const PARAMETERS: Self = Self::Parameters;
    const JUMP: Self = Self::Jump;
    const BRANCH_IF_LESS: Self = Self::CompareBranch(Flags::Less);
    const LOAD_ADDRESS: Self = Self::LoadAddress;
    const CONSTANT: fn(i64) -> Self = Self::Constant;
    const RETURN: fn(i32) -> Self = Self::Return;
    const NUMBER: fn(i64) -> i64 = |number| number;

    fn flow(inst: &Inst) -> Flow {
        match inst.op {
            Self::Jump => Flow::Jump,
            Self::CompareBranch(_) | Self::TestBranch => Flow::Branch,
            Self::Return(_) => Flow::Return,
            Self::Parameters => Flow::Straight { pure: false },
            Self::Row(row, _) => Flow::Straight { pure: row.pure },
            _ => Flow::Straight { pure: inst.only_defines() },
        }
    }
}
