//! Instructions over virtual registers: what the lowering writes, and what of it the register allocator reads.

use super::encode::Condition;
use super::length::Length;
use super::rows::Row;
use crate::codegen::own::{self, Address, Base, Flow, Instruction};
use regalloc2::{Operand, OperandConstraint, OperandKind, OperandPos, PReg, VReg};

/// A function of these instructions.
pub(super) type Function = own::Function<Inst>;

/// An operand, in the order in which the manual writes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arg {
    /// A register written.
    Def(VReg),
    /// A register read.
    Use(VReg),
    /// What the register written first holds before; not written out.
    Tied(VReg),
    /// A register written that must be this one.
    FixedDef(VReg, PReg),
    /// A register written before the others are read, that must be this one; not written out.
    FixedTemp(VReg, PReg),
    /// A register read that must be this one.
    FixedUse(VReg, PReg),
    /// The mask register of the instruction.
    Masked(VReg),
    /// Memory.
    Memory(Address),
    /// A number.
    Immediate(i32),
}

/// The width of a scalar in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Width {
    /// One byte.
    Byte,
    /// Two bytes.
    Word,
    /// Four bytes.
    Double,
    /// Eight bytes.
    Quad,
}

impl Width {
    /// Of a power of two of bytes up to 8.
    pub fn of(bytes: u32) -> Self {
        match bytes {
            1 => Self::Byte,
            2 => Self::Word,
            4 => Self::Double,
            _ => Self::Quad,
        }
    }
}

/// Two-operand arithmetic of 64-bit registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arithmetic {
    /// Sum.
    Add,
    /// Bitwise or.
    Or,
    /// Bitwise and.
    And,
    /// Difference.
    Sub,
    /// Bitwise exclusive or.
    Xor,
    /// Low half of the product.
    Multiply,
}

/// Shifts of 64-bit registers by a constant, by the digit of their encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shift {
    /// Left.
    Left = 4,
    /// Logical right.
    RightUnsigned = 5,
    /// Arithmetic right.
    RightSigned = 7,
}

/// What an instruction does; the comment is its operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Op {
    /// A row's instruction.
    Vector {
        /// The row.
        row: &'static Row,
        /// Vector length.
        length: Length,
        /// Whether masked lanes become zero.
        zeroing: bool,
        /// Whether the memory operand is one element.
        broadcast: bool,
    },
    /// Parameters arrive: fixed definitions.
    Parameters,
    /// def, immediate of 64 bits.
    Constant(i64),
    /// def, memory: the address.
    LoadAddress,
    /// def, tied, use or immediate.
    Arithmetic(Arithmetic),
    /// def, tied, immediate.
    Shift(Shift),
    /// def, tied.
    Negate,
    /// def, tied.
    Not,
    /// def, use.
    LeadingZeros,
    /// def, use: widened from the low bits.
    Extend(Width, bool),
    /// def, memory: zeros above, or the sign's.
    Load(Width, bool),
    /// memory, use.
    Store(Width),
    /// Fixed: quotient in rax, remainder in rdx, dividend in rax, divisor.
    Divide {
        /// Of signed numbers.
        signed: bool,
    },
    /// def, a, b: 1 if a stands so to b, else 0.
    CompareSet(Condition),
    /// def, tied b, a: a where a stands so to b.
    Extreme(Condition),
    /// def, tied b, a, mask: a where the mask is not 0.
    TestSelect,
    /// def, tied otherwise, chosen, a, b: chosen where a stands so to b.
    CompareSelect(Condition),
    /// To the first block.
    Jump,
    /// a, b: to the first block if a stands so to b, else to the second.
    CompareBranch(Condition),
    /// use: to the first block if it is not 0, else to the second.
    TestBranch,
    /// With a status.
    Return(i32),
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct Inst {
    /// What it does.
    pub op: Op,
    /// To what.
    pub args: Vec<Arg>,
}

impl Instruction for Inst {
    /// In the order of the operands; of memory, base and index.
    fn operands(&self, list: &mut Vec<Operand>) {
        let start = list.len();
        let tied = self.args.iter().position(|arg| matches!(arg, Arg::Tied(_)));
        for (i, arg) in self.args.iter().enumerate() {
            match *arg {
                // The tied operand stands right after the definition.
                Arg::Def(v) if tied == Some(i + 1) => list.push(Operand::reg_reuse_def(v, list.len() + 1 - start)),
                Arg::Def(v) => list.push(Operand::reg_def(v)),
                Arg::Use(v) | Arg::Tied(v) | Arg::Masked(v) => list.push(Operand::reg_use(v)),
                Arg::FixedDef(v, p) => list.push(Operand::reg_fixed_def(v, p)),
                Arg::FixedTemp(v, p) => list.push(Operand::new(v, OperandConstraint::FixedReg(p), OperandKind::Def, OperandPos::Early)),
                Arg::FixedUse(v, p) => list.push(Operand::reg_fixed_use(v, p)),
                Arg::Memory(address) => {
                    if let Base::Register(v) = address.base {
                        list.push(Operand::reg_use(v));
                    }
                    list.extend(address.index.map(|(v, _)| Operand::reg_use(v)));
                }
                Arg::Immediate(_) => {}
            }
        }
    }

    fn flow(&self) -> Flow {
        match self.op {
            Op::Jump => Flow::Jump,
            Op::CompareBranch(_) | Op::TestBranch => Flow::Branch,
            Op::Return(_) => Flow::Return,
            Op::Parameters | Op::Store(_) | Op::Divide { .. } => Flow::Straight { pure: false },
            _ => Flow::Straight { pure: matches!(self.args.first(), Some(Arg::Def(_))) },
        }
    }
}
