//! Operands in physical registers: addresses, and the numbers of registers.

use super::address::{Address, Base};
use super::error::{AssemblyError, Missing};
use regalloc2::{PReg, RegClass};

/// Physical registers and offsets of the bases that a frame determines.
pub struct FrameBases {
    /// The kernel's arrays on the stack.
    pub locals: (u8, i32),
    /// The caller's arguments on the stack.
    pub arguments: (u8, i32),
}

/// An address in physical registers, by their numbers.
pub struct PhysicalAddress {
    /// The base.
    pub base: u8,
    /// The index, and the exponent of the power of two that scales it.
    pub index: Option<(u8, u8)>,
    /// The displacement in bytes.
    pub displacement: i32,
}

impl Address {
    /// Returns the address in physical registers. `registers` has base and index, if these are registers. `None` for a constant after the code.
    ///
    /// # Errors
    /// [`Missing::AddressRegisters`] if there are too few.
    pub fn physical(&self, frame: &FrameBases, mut registers: impl Iterator<Item = u8>) -> Result<Option<PhysicalAddress>, Missing> {
        let mut next = || registers.next().ok_or(Missing::AddressRegisters);
        let (base, offset) = match self.base {
            Base::Register(_) => (next()?, 0),
            Base::Locals => frame.locals,
            Base::Arguments => frame.arguments,
            Base::Pool => return Ok(None),
        };
        let index = match self.index {
            Some((_, shift)) => Some((next()?, shift)),
            None => None,
        };
        Ok(Some(PhysicalAddress { base, index, displacement: self.displacement + offset }))
    }
}

/// Returns a register of an instruction, by its position.
///
/// # Errors
/// [`Missing::Register`] if there are fewer.
pub fn register(at: &[PReg], i: usize) -> Result<PReg, Missing> {
    at.get(i).copied().ok_or(Missing::Register)
}

/// Returns the number of a register that must be of a class. `found` and `wanted` name another class and this one.
///
/// # Errors
/// The errors of [`register`]. [`AssemblyError::Class`] if the register is of another class.
pub fn number_of(at: &[PReg], i: usize, class: RegClass, [found, wanted]: [&'static str; 2]) -> Result<u8, AssemblyError> {
    let register = register(at, i)?;
    if register.class() == class { Ok(register.hw_enc() as u8) } else { Err(AssemblyError::Class { found, wanted }) }
}
