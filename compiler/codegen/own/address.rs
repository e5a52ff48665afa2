//! Memory addresses, and bounds of loops.

use regalloc2::VReg;

/// Base of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// A register.
    Register(VReg),
    /// The kernel's stack arrays.
    Locals,
    /// The caller's arguments on the stack.
    Arguments,
    /// The constants after the code.
    Pool,
}

/// A memory address: a base, a scaled index and a displacement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// The base.
    pub base: Base,
    /// A register, and the exponent of the power of two that scales it.
    pub index: Option<(VReg, u8)>,
    /// The displacement in bytes.
    pub displacement: i32,
}

impl Address {
    /// Makes the address in a register.
    pub fn at(register: VReg) -> Self {
        Self { base: Base::Register(register), index: None, displacement: 0 }
    }

    /// Makes the address of a constant after the code.
    pub fn pool(offset: u32) -> Self {
        Self { base: Base::Pool, index: None, displacement: offset as i32 }
    }

    /// Sets the index to a register times a factor. `None` if the factor is not a power of two.
    pub fn indexed(self, index: VReg, factor: i64) -> Option<Self> {
        let shift = (factor > 0 && factor & (factor - 1) == 0).then(|| factor.trailing_zeros() as u8)?;
        Some(Self { index: Some((index, shift)), ..self })
    }

    /// Adds bytes to the displacement. `None` if it does not fit 32 bits.
    pub fn far(self, bytes: i64) -> Option<Self> {
        let displacement = i64::from(self.displacement).checked_add(bytes)?;
        Some(Self { displacement: i32::try_from(displacement).ok()?, ..self })
    }

    /// Adds bytes to the displacement, which must fit.
    pub fn plus(self, bytes: i32) -> Self {
        Self { displacement: self.displacement + bytes, ..self }
    }
}

/// Use of an address by an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Computation of the address in a register.
    Address,
    /// Read or write of memory from the address on.
    Memory {
        /// Bytes that one instruction accesses.
        unit: u32,
        /// Bytes that all instructions access.
        bytes: u32,
    },
    /// Read or write of words, by instructions that require multiples of four bytes.
    Words {
        /// Bytes that all instructions access.
        bytes: u32,
    },
    /// Read or write of unaligned memory, in pieces of a power of two of bytes.
    Pieces {
        /// Bytes that all instructions access.
        bytes: u32,
    },
}

impl Access {
    /// Returns an access of one instruction to a number of bytes.
    pub fn one(bytes: u32) -> Self {
        Self::Memory { unit: bytes, bytes }
    }
}
