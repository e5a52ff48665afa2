//! Places in memory, and bounds of loops.

use regalloc2::VReg;

/// What an address starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// A register.
    Register(VReg),
    /// The stack arrays of the kernel.
    Locals,
    /// The caller's arguments on the stack.
    Arguments,
    /// The constants after the code.
    Pool,
}

/// A place in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// Where it starts.
    pub base: Base,
    /// A register times a power of two, by its exponent.
    pub index: Option<(VReg, u8)>,
    /// Bytes.
    pub displacement: i32,
}

impl Address {
    /// What a register points to.
    pub fn at(register: VReg) -> Self {
        Self { base: Base::Register(register), index: None, displacement: 0 }
    }

    /// A constant after the code.
    pub fn pool(offset: u32) -> Self {
        Self { base: Base::Pool, index: None, displacement: offset as i32 }
    }

    /// Plus a register times a factor, where that is a power of two.
    pub fn indexed(self, index: VReg, factor: i64) -> Option<Self> {
        let shift = (factor > 0 && factor & (factor - 1) == 0).then(|| factor.trailing_zeros() as u8)?;
        Some(Self { index: Some((index, shift)), ..self })
    }

    /// Some bytes further on, where an address counts so many.
    pub fn far(self, bytes: i64) -> Option<Self> {
        let displacement = i64::from(self.displacement).checked_add(bytes)?;
        Some(Self { displacement: i32::try_from(displacement).ok()?, ..self })
    }

    /// Some bytes further on.
    pub fn plus(self, bytes: i32) -> Self {
        Self { displacement: self.displacement + bytes, ..self }
    }
}

/// What an instruction does with an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Puts it into a register.
    Address,
    /// Reads or writes memory from there on.
    Memory {
        /// Bytes that one instruction accesses.
        unit: u32,
        /// Bytes that all of them access.
        bytes: u32,
    },
    /// Reads or writes words, by instructions that want them at multiples of four bytes.
    Words {
        /// Bytes that all of them access.
        bytes: u32,
    },
    /// Reads or writes memory from there on, a power of two of bytes at a time, which may lie anywhere.
    Pieces {
        /// Bytes that all of them access.
        bytes: u32,
    },
}

impl Access {
    /// One instruction for so many bytes.
    pub fn one(bytes: u32) -> Self {
        Self::Memory { unit: bytes, bytes }
    }
}

/// The end of a counted loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// In a register.
    Register(VReg),
    /// A number.
    Number(i64),
}
