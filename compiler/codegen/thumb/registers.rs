//! The registers of Arm's M profile, by their numbers in instructions, and what its procedure call standard (AAPCS) makes of them.

use regalloc2::RegClass;

/// General-purpose registers.
pub(super) const GENERAL: RegClass = RegClass::Int;
/// Registers of binary32.
pub(super) const SINGLE: RegClass = RegClass::Float;

/// The stack pointer.
pub(super) const SP: u8 = 13;
/// The return address; any number once that is saved.
pub(super) const LR: u8 = 14;

/// How many parameters arrive in r0 and those after it; the rest are on the stack.
pub(super) const PARAMETERS: usize = 4;
/// Registers that instructions of 16 bits can name.
pub(super) const LOW: std::ops::Range<usize> = 0..8;
/// Registers that a function must save, beside the return address.
pub(super) const SAVED: std::ops::Range<usize> = 4..12;
/// Registers of binary32 that it must save.
pub(super) const SAVED_SINGLES: std::ops::Range<usize> = 16..32;
