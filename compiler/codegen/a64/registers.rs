//! The registers of aarch64, by their numbers in instructions, and what its procedure call standard (AAPCS64) makes of them.

use regalloc2::RegClass;

/// General-purpose registers.
pub(super) const GENERAL: RegClass = RegClass::Int;
/// Vector registers.
pub(super) const VECTOR: RegClass = RegClass::Float;

/// The stack pointer, where an instruction takes it; elsewhere it is zero.
pub(super) const SP: u8 = 31;
/// The frame pointer.
pub(super) const FRAME: u8 = 29;

/// How many parameters arrive in x0 and those after it; the rest are on the stack.
pub(super) const PARAMETERS: usize = 8;
/// Registers that a function may change. x18 is the platform's.
pub(super) const VOLATILE: std::ops::Range<usize> = 0..18;
/// Registers that it must save.
pub(super) const SAVED: std::ops::Range<usize> = 19..29;
/// Vector registers whose lower halves it must save.
pub(super) const SAVED_VECTORS: std::ops::Range<usize> = 8..16;
