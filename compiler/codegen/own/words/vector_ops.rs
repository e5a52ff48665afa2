//! Operations of an instruction set on vector registers of 128 bits.

use crate::CodegenError;
use crate::own::Address;
use crate::unsupported::Lack;
use modelc_kernel::{CompareOp, Value};
use regalloc2::VReg;

/// Bytes of a vector register.
pub const VECTOR: u32 = 16;

/// Most vector registers of a value. Accesses reach all of its bytes from one address.
pub const REGISTERS: u16 = 8;

/// Operation on the lanes of two vector registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaneOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// The low half of a product.
    Mul,
    /// The high half of a signed product.
    HighProduct,
    /// The high half of a signed product, doubled and rounded. It saturates.
    DoublingHighProduct,
    /// Signed minimum.
    Min,
    /// Signed maximum.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Shift to the left; for a negative count, to the right, the sign repeated.
    Shift,
}

/// Operation on the lanes of a vector register and a word, which may change places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WithWord {
    /// Sum.
    Add,
    /// The low half of a product.
    Mul,
}

impl WithWord {
    /// Returns an operation on lanes as one that may take a word. `None` if no instruction does.
    pub fn of(op: LaneOp) -> Option<Self> {
        match op {
            LaneOp::Add => Some(Self::Add),
            LaneOp::Mul => Some(Self::Mul),
            _ => None,
        }
    }
}

/// Way in which a vector register holds a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filled {
    /// Sixteen bytes.
    Bytes,
    /// Four lanes of 32 bits.
    Lanes,
}

impl Filled {
    /// Returns the number of lanes in a register.
    pub(super) fn lanes(self) -> u16 {
        match self {
            Self::Bytes => 16,
            Self::Lanes => 4,
        }
    }
}

/// Operation on the bytes of two vector registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByteOp {
    /// Signed minimum.
    SignedMin,
    /// Signed maximum.
    SignedMax,
    /// Unsigned minimum.
    UnsignedMin,
    /// Unsigned maximum.
    UnsignedMax,
}

/// Shift of lanes by a number of bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaneShift {
    /// Shift to the left.
    Left,
    /// Shift to the right, with zeros above.
    Right,
    /// Shift to the right, with the sign repeated.
    RightSigned,
}

/// Comparison of the signed lanes of two vector registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneTest {
    /// The comparison.
    pub op: CompareOp,
    /// The first register.
    pub a: VReg,
    /// The second register.
    pub b: VReg,
}

/// Element of a vector in memory, which determines the alignment and the reach of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    /// Bytes, at any address.
    Byte,
    /// Words, at a multiple of four bytes.
    Word,
    /// Four bytes, each the low byte of a lane of 32 bits. Loads extend signs.
    ByteOfLane,
    /// Four halves at a multiple of two bytes, each the low half of a lane of 32 bits. Loads extend signs.
    HalfOfLane,
}

impl Element {
    /// Returns the element of sixteen bytes that are known, or not known, to be at a multiple of four.
    pub(super) fn of_bytes(aligned: bool) -> Self {
        if aligned { Self::Word } else { Self::Byte }
    }

    /// Returns the bytes in memory.
    pub fn bytes(self) -> i32 {
        match self {
            Self::Byte | Self::ByteOfLane => 1,
            Self::HalfOfLane => 2,
            Self::Word => 4,
        }
    }
}

/// Operations on vector registers. Machines without them have no such values, and refuse all operations with [`CodegenError::Unsupported`].
pub trait VectorOps {
    /// Returns the error of a kernel that uses what the CPU level does not have.
    fn lacks(&self, lack: Lack) -> CodegenError;
    /// Tests whether vector registers hold the bytes of a value, which a load or an operation on bytes gives.
    fn holds_bytes(&self, _value: Value) -> bool {
        false
    }
    /// Tests whether vector registers hold the lanes of a value.
    fn holds_lanes(&self, _value: Value) -> bool {
        false
    }
    /// Loads a vector register: all elements, or so many and zeros after them.
    fn load_vector(&mut self, _address: Address, _element: Element, _first: Option<u32>) -> Result<VReg, CodegenError> {
        Err(self.lacks(Lack::Vectors))
    }
    /// Stores a vector register: all elements, or the first ones.
    fn store_vector(&mut self, _address: Address, _element: Element, _first: Option<u32>, _vector: VReg) -> Result<(), CodegenError> {
        Err(self.lacks(Lack::Vectors))
    }
    /// Returns sum + the products of the signed bytes of two vector registers.
    fn add_sixteen_products(&mut self, _sum: VReg, _a: VReg, _b: VReg) -> Result<VReg, CodegenError> {
        Err(self.lacks(Lack::Vectors))
    }
    /// Returns an operation on the bytes of two vector registers.
    fn two_bytes(&mut self, _op: ByteOp, _a: VReg, _b: VReg) -> Result<VReg, CodegenError> {
        Err(self.lacks(Lack::Vectors))
    }
    /// Returns sixteen copies of the low byte of a word.
    fn vector_of_byte(&mut self, _word: VReg) -> Result<VReg, CodegenError> {
        Err(self.lacks(Lack::Vectors))
    }
    /// Returns four words as lanes.
    fn vector_of_words(&mut self, _words: [VReg; 4]) -> Result<VReg, CodegenError> {
        Err(self.lacks(Lack::Vectors))
    }
    /// Returns an operation on the lanes of two vector registers.
    fn two_lanes(&mut self, _op: LaneOp, _a: VReg, _b: VReg) -> Result<VReg, CodegenError> {
        Err(self.lacks(Lack::Vectors))
    }
    /// Returns an operation on lanes and a word.
    fn lanes_with_word(&mut self, _op: WithWord, _a: VReg, _word: VReg) -> Result<VReg, CodegenError> {
        Err(self.lacks(Lack::Vectors))
    }
    /// Returns lanes that are shifted by a count from 1 to 31.
    fn shift_lanes_by(&mut self, _a: VReg, _count: u32, _shift: LaneShift) -> Result<VReg, CodegenError> {
        Err(self.lacks(Lack::Vectors))
    }
    /// Returns the lanes of the first register where a test holds, and of the second one elsewhere.
    fn choose_lanes(&mut self, _test: LaneTest, _yes: VReg, _no: VReg) -> Result<VReg, CodegenError> {
        Err(self.lacks(Lack::Vectors))
    }
    /// Returns lanes with the opposite sign.
    fn negate_lanes(&mut self, _a: VReg) -> Result<VReg, CodegenError> {
        Err(self.lacks(Lack::Vectors))
    }
    /// Returns the nearest numbers of 8 or 16 bits, signed or unsigned, of signed lanes. Bits above them are undefined.
    fn narrow_lanes(&mut self, _a: VReg, _bits: u32, _signed: bool) -> Result<VReg, CodegenError> {
        Err(self.lacks(Lack::Vectors))
    }
}
