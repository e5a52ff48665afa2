//! Registers of Arm's M profile, by their numbers in instructions, and their roles in the procedure call standard (AAPCS).

use regalloc2::RegClass;

/// General-purpose registers.
pub(super) const GENERAL: RegClass = RegClass::Int;
/// Binary32 registers.
pub(super) const SINGLE: RegClass = RegClass::Float;

/// Vectors of 128 bits: four binary32 registers each.
pub(super) const VECTORS: RegClass = RegClass::Vector;

/// The stack pointer.
pub(super) const SP: u8 = 13;
/// The link register, with the return address. It is a general-purpose register once that is saved.
pub(super) const LR: u8 = 14;

/// Number of parameters in registers, from r0 on. Other parameters are on the stack.
pub(super) const PARAMETERS: usize = 4;
/// Registers that most 16-bit instructions can use.
pub(super) const LOW: std::ops::Range<usize> = 0..8;
/// Registers that a function must save, besides the return address.
pub(super) const SAVED: std::ops::Range<usize> = 4..12;
/// Registers that a called function may change.
pub(super) const CLOBBERED: [usize; 6] = [0, 1, 2, 3, 12, LR as usize];
/// Binary32 registers that a function must save.
pub(super) const SAVED_SINGLES: std::ops::Range<usize> = 16..32;
/// Number of vector registers.
pub(super) const VECTOR_COUNT: usize = 8;
/// The first vector register that a function must save. It is the first of [`SAVED_SINGLES`], too.
pub(super) const FIRST_SAVED_VECTOR: usize = 4;
