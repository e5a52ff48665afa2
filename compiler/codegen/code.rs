//! Machine code of one function, before it has an address.

use super::support::Support;

/// Machine code of one function.
#[derive(Clone, Debug)]
pub struct Code {
    /// Instructions, and constants after them.
    pub bytes: Vec<u8>,
    /// Alignment of the first byte.
    pub alignment: u64,
    /// Places to fill in when addresses are known.
    pub relocations: Vec<Relocation>,
    /// Bytes of stack that the function itself uses. They include its return address and outgoing arguments, but not its callees.
    pub stack_bytes: u32,
}

/// A place in code that depends on an address.
#[derive(Clone, Debug, PartialEq)]
pub struct Relocation {
    /// Offset from the function's first byte.
    pub offset: u32,
    /// Encoding of the address.
    pub kind: RelocationKind,
    /// The function or data whose address is written.
    pub target: RelocationTarget,
    /// A number that is added to the address.
    pub addend: i64,
}

/// Encodings of an address in instructions. All hold a distance from the instruction, or a part of one. Code never contains an absolute address, and
/// has no global offset table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RelocationKind {
    /// x86-64: a 32-bit distance from the end of the field.
    X86Relative,
    /// x86-64: a 32-bit distance from the end of the field, of a call or a jump.
    X86Call,
    /// aarch64: the 26-bit distance of BL, in instructions.
    Aarch64Call,
    /// aarch64: the distance of ADRP, in pages.
    Aarch64Page,
    /// aarch64: the low twelve bits of the address, for the ADD after an ADRP.
    Aarch64PageOffset,
    /// riscv64: the distance of the pair AUIPC, JALR.
    RiscvCall,
    /// riscv64: the upper 20 bits of a distance, for AUIPC.
    RiscvHigh,
    /// riscv64: the lower twelve bits of a distance. The relocation points to the AUIPC that holds the upper bits.
    RiscvLow,
    /// Thumb: the distance of BL.
    ThumbCall,
    /// Thumb: the low 16 bits of a distance, for MOVW; the instruction holds the addend.
    ThumbLow,
    /// Thumb: the high 16 bits of a distance, for MOVT; the instruction holds the addend.
    ThumbHigh,
    /// Thumb: a distance in a word, between instructions or in data.
    ThumbDistance,
    /// x86-64: a 32-bit distance in data.
    X86Distance,
    /// aarch64: a 32-bit distance in data.
    Aarch64Distance,
    /// RISC-V: a 32-bit distance in data.
    RiscvDistance,
}

/// The target of a relocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RelocationTarget {
    /// The function with this number.
    Function(u32),
    /// The data section with this number.
    Data(u32),
    /// An offset in the same function.
    Here(u32),
    /// The imported function with this number.
    External(u32),
    /// A support function, which the object has once. It becomes [`Self::Function`] when functions are numbered.
    Support(Support),
}
