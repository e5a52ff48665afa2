//! Instructions over virtual registers: output of the lowering, input of the register allocator.

use super::encode::Condition;
use super::length::Length;
use super::rows::Row;
use crate::own::{self, Address, Base, Flow, Instruction};
use regalloc2::{Operand, OperandConstraint, OperandKind, OperandPos, PReg, VReg};

/// A function of these instructions.
pub(super) type Function = own::Function<Inst>;

/// An operand. Operands are in the order of Intel's manual.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arg {
    /// A written register.
    Def(VReg),
    /// A read register.
    Use(VReg),
    /// The register whose old contents the first definition overwrites; it has no field.
    Tied(VReg),
    /// A written register that must be a certain physical register.
    FixedDef(VReg, PReg),
    /// A certain physical register that is overwritten before other operands are read; it has no field.
    FixedTemp(VReg, PReg),
    /// A read register that must be a certain physical register.
    FixedUse(VReg, PReg),
    /// The mask register of the instruction.
    Masked(VReg),
    /// An operand in memory.
    Memory(Address),
    /// An immediate.
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
#[derive(Clone, Debug)]
pub(super) struct Inst {
    /// The operation.
    pub op: Op,
    /// Its operands.
    pub args: Vec<Arg>,
}

impl Instruction for Inst {
    /// Lists registers in the order of the operands; a memory operand has base and index.
    fn operands(&self, list: &mut Vec<Operand>) {
        let start = list.len();
        let tied = self.args.iter().position(|arg| matches!(arg, Arg::Tied(_)));
        for (i, arg) in self.args.iter().enumerate() {
            match *arg {
                // The tied operand follows the definition.
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

    fn reads_locals(&self) -> bool {
        self.op != Op::LoadAddress && self.args.iter().any(|arg| matches!(arg, Arg::Memory(address) if address.base == Base::Locals))
    }
}
