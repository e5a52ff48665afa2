//! Machine instructions over virtual registers, in blocks: what the lowering writes and the register allocator reads.

use super::encode::{Condition, Length};
use super::rows::Row;
use regalloc2::{PReg, RegClass, VReg};

/// General-purpose registers.
pub(super) const GENERAL: RegClass = RegClass::Int;
/// Vector registers.
pub(super) const VECTOR: RegClass = RegClass::Float;
/// Mask registers of AVX-512.
pub(super) const MASK: RegClass = RegClass::Vector;

/// A block by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Block(pub u32);

/// What an address starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Base {
    /// A register.
    Register(VReg),
    /// The stack arrays of the kernel.
    Locals,
    /// The caller's arguments on the stack.
    Arguments,
    /// The constants behind the code.
    Pool,
}

/// A place in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    /// Where it starts.
    pub base: Base,
    /// A register times 2 to some power up to 3.
    pub index: Option<(VReg, u8)>,
    /// Bytes.
    pub displacement: i32,
}

impl Address {
    /// A constant behind the code.
    pub fn pool(offset: u32) -> Self {
        Self { base: Base::Pool, index: None, displacement: offset as i32 }
    }

    /// Some bytes further on.
    pub fn plus(self, bytes: i32) -> Self {
        Self { displacement: self.displacement + bytes, ..self }
    }
}

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

impl Op {
    /// Whether it ends a block and goes to others.
    pub fn is_branch(self) -> bool {
        matches!(self, Self::Jump | Self::CompareBranch(_) | Self::TestBranch)
    }

    /// Whether it ends a block.
    pub fn is_terminator(self) -> bool {
        self.is_branch() || matches!(self, Self::Return(_))
    }
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct Inst {
    /// What it does.
    pub op: Op,
    /// To what.
    pub args: Vec<Arg>,
}

/// An edge to a block.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    /// The block.
    pub to: Block,
    /// One for each of its parameters.
    pub arguments: Vec<VReg>,
}

/// A block: instructions, the last of which ends it.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockData {
    /// Registers that every edge to the block gives.
    pub params: Vec<VReg>,
    /// Instructions without the last.
    pub insts: Vec<Inst>,
    /// The last instruction and where it goes.
    pub end: Option<(Inst, Vec<Edge>)>,
    /// Whether it is the head of a loop without loops inside.
    pub hot: bool,
}

/// A function.
#[derive(Debug, Default)]
pub(super) struct Function {
    /// Blocks by number.
    pub blocks: Vec<BlockData>,
    /// Blocks in the order of their code; the first is the entry.
    pub order: Vec<Block>,
    /// Number of virtual registers.
    pub registers: usize,
    /// Constants behind the code.
    pub pool: Vec<u8>,
    /// Bytes of the kernel's stack arrays.
    pub local_bytes: u32,
    /// Whether some arguments come on the stack.
    pub stack_arguments: bool,
    /// Whether floats are rounded towards zero while it runs.
    pub toward_zero: bool,
}

impl Function {
    /// A new register.
    pub fn register(&mut self, class: RegClass) -> VReg {
        self.registers += 1;
        VReg::new(self.registers - 1, class)
    }

    /// A new block, not yet in the order.
    pub fn block(&mut self) -> Block {
        self.blocks.push(BlockData::default());
        Block(self.blocks.len() as u32 - 1)
    }

    /// A block's data.
    pub fn at(&mut self, block: Block) -> &mut BlockData {
        &mut self.blocks[block.0 as usize]
    }

    /// The offset of a constant behind the code, aligned to its size; equal constants are one.
    pub fn constant(&mut self, bytes: &[u8]) -> u32 {
        let alignment = bytes.len().next_power_of_two().min(64);
        let known = (0..self.pool.len()).step_by(alignment).find(|&at| self.pool[at..].starts_with(bytes));
        let at = known.unwrap_or_else(|| {
            let at = self.pool.len().next_multiple_of(alignment);
            self.pool.resize(at, 0);
            self.pool.extend(bytes);
            at
        });
        at as u32
    }
}
