//! Registers of aarch64 by their numbers in instructions, and their roles in the procedure call standard (AAPCS64).

use regalloc2::RegClass;

/// General-purpose registers.
pub(super) const GENERAL: RegClass = RegClass::Int;
/// Vector registers.
pub(super) const VECTOR: RegClass = RegClass::Float;

/// The stack pointer, in instructions that accept it; in others this number is the zero register.
pub(super) const SP: u8 = 31;
/// The frame pointer.
pub(super) const FRAME: u8 = 29;

/// Number of parameters in registers, from x0 on; further parameters are on the stack.
pub(super) const PARAMETERS: usize = 8;
/// Registers that a function may change. x18 is reserved for the platform.
pub(super) const VOLATILE: std::ops::Range<usize> = 0..18;
/// Registers that a function must save.
pub(super) const SAVED: std::ops::Range<usize> = 19..29;
/// Vector registers whose lower halves a function must save.
pub(super) const SAVED_VECTORS: std::ops::Range<usize> = 8..16;
