//! Instructions over virtual registers: output of the lowering, input of the register allocator.

use super::encode::Condition;
use super::length::Length;
use super::rows::Row;
use crate::own::{self, Flow, Opcode};

/// A function of these instructions.
pub(super) type Function = own::Function<Inst>;

/// An operand. Operands are in the order of Intel's manual.
pub(super) type Arg = own::Arg<i32>;

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
    /// Returns the width of a power of two of bytes, up to 8.
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

/// Shifts of 64-bit registers by a constant; the discriminant is the digit of the encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shift {
    /// Left.
    Left = 4,
    /// Logical right.
    RightUnsigned = 5,
    /// Arithmetic right.
    RightSigned = 7,
}

/// The operation of an instruction; the comment lists its operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Op {
    /// The vector instruction of a row.
    Vector {
        /// The row.
        row: &'static Row,
        /// Vector length.
        length: Length,
        /// `true` if masked lanes become zero.
        zeroing: bool,
        /// `true` if the memory operand is one element for all lanes.
        broadcast: bool,
    },
    /// Fixed definitions: the incoming parameters.
    Parameters,
    /// def; the constant has 64 bits.
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
    /// def, use: extended from the low bits, with sign if `true`.
    Extend(Width, bool),
    /// def, memory: extended with sign if `true`, else with zeros.
    Load(Width, bool),
    /// memory, use.
    Store(Width),
    /// memory: fetches its cache line, to be written if `true`.
    Fetch {
        /// `true` if the line is fetched to be written.
        writes: bool,
    },
    /// Fixed: quotient in rax, remainder in rdx, dividend in rax, divisor.
    Divide {
        /// `true` for signed numbers.
        signed: bool,
    },
    /// def, a, b: 1 if the comparison of a with b holds, else 0.
    CompareSet(Condition),
    /// def, tied b, a: a if the comparison of a with b holds, else b.
    Extreme(Condition),
    /// def, tied b, a, mask: a if the mask is not 0, else b.
    TestSelect,
    /// def, tied otherwise, chosen, a, b: chosen if the comparison of a with b holds, else otherwise.
    CompareSelect(Condition),
    /// Jump to the first block.
    Jump,
    /// a, b: to the first block if the comparison of a with b holds, else to the second.
    CompareBranch(Condition),
    /// use: to the first block if it is not 0, else to the second.
    TestBranch,
    /// Return of a status.
    Return(i32),
}

/// An instruction.
pub(super) type Inst = own::Inst<Op>;

impl Opcode for Op {
    type Number = i32;

    const PARAMETERS: Self = Self::Parameters;
    const JUMP: Self = Self::Jump;
    const BRANCH_IF_LESS: Self = Self::CompareBranch(Condition::Less);
    const LOAD_ADDRESS: Self = Self::LoadAddress;
    const CONSTANT: fn(i64) -> Self = Self::Constant;
    const RETURN: fn(i32) -> Self = Self::Return;
    const NUMBER: fn(i64) -> i32 = |number| number as i32;

    fn flow(inst: &Inst) -> Flow {
        match inst.op {
            Self::Jump => Flow::Jump,
            Self::CompareBranch(_) | Self::TestBranch => Flow::Branch,
            Self::Return(_) => Flow::Return,
            Self::Parameters | Self::Store(_) | Self::Divide { .. } => Flow::Straight { pure: false },
            _ => Flow::Straight { pure: inst.only_defines() },
        }
    }
}
