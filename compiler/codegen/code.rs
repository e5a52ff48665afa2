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
    /// Bytes of stack the function takes itself, its return address and outgoing arguments included, without what it calls.
    pub stack_bytes: u32,
}

/// A place in code that depends on an address.
#[derive(Clone, Debug, PartialEq)]
pub struct Relocation {
    /// Where, from the function's first byte.
    pub offset: u32,
    /// How the address is written.
    pub kind: RelocationKind,
    /// The address.
    pub target: RelocationTarget,
    /// What is added to the address.
    pub addend: i64,
}

/// How an address is written into instructions. All are distances from the instruction, or a part of one: code refers to nothing by its
/// address and has no global offset table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RelocationKind {
    /// x86-64: a 32-bit distance from the end of the field.
    X86Relative,
    /// x86-64: the same, of a call or a jump.
    X86Call,
    /// aarch64: the 26-bit distance of BL, in instructions.
    Aarch64Call,
    /// aarch64: the distance in pages of ADRP.
    Aarch64Page,
    /// aarch64: the low twelve bits of the address, for the ADD after an ADRP.
    Aarch64PageOffset,
    /// riscv64: the distance of the pair AUIPC, JALR.
    RiscvCall,
    /// riscv64: the upper 20 bits of a distance, for AUIPC.
    RiscvHigh,
    /// riscv64: the lower twelve bits of the distance of the AUIPC that the relocation points to.
    RiscvLow,
    /// Thumb: the distance of BL.
    ThumbCall,
    /// Thumb: the low 16 bits of a distance, for MOVW; the instruction holds what is added.
    ThumbLow,
    /// Thumb: the high 16 bits of a distance, for MOVT, likewise.
    ThumbHigh,
}

/// What a relocation points to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RelocationTarget {
    /// The function of that number.
    Function(u32),
    /// The data of that number.
    Data(u32),
    /// An offset in the function itself.
    Here(u32),
    /// The function of the application of that number.
    External(u32),
    /// A function that the object has once. Where functions are numbered, it is one of those.
    Support(Support),
}
