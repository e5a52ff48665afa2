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

    /// Some bytes further on.
    pub fn plus(self, bytes: i32) -> Self {
        Self { displacement: self.displacement + bytes, ..self }
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
