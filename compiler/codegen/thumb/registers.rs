//! Registers of Arm's M profile, by their numbers in instructions, and their roles in the procedure call standard (AAPCS).

use regalloc2::{PReg, RegClass};

/// General-purpose registers.
pub(super) const GENERAL: RegClass = RegClass::Int;
/// Binary32 registers.
pub(super) const SINGLE: RegClass = RegClass::Float;

/// Vectors of 128 bits: four binary32 registers each. In functions without vectors, registers of binary64 have this class, with the numbers of
/// [`DOUBLES`].
pub(super) const VECTORS: RegClass = RegClass::Vector;
/// Binary64 registers that hold values, two binary32 registers each. The other binary32 registers of such a function hold binary32. A function must
/// save half of each.
pub(super) const DOUBLES: [u8; 8] = [4, 5, 6, 7, 12, 13, 14, 15];

/// The stack pointer.
pub(super) const SP: u8 = 13;
/// The link register, with the return address. It is a general-purpose register once that is saved.
pub(super) const LR: u8 = 14;

/// Registers of parameters and results. Other parameters are on the stack.
pub(super) const PARAMETERS: std::ops::Range<usize> = 0..4;
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
/// The first number of a binary64 register in its class. Smaller ones are those of vectors.
const FIRST_DOUBLE: usize = 16;

/// Returns the allocator's register of a binary64 register.
pub(super) fn double_register(number: u8) -> PReg {
    PReg::new(FIRST_DOUBLE + usize::from(number), VECTORS)
}

/// Returns the number of a binary64 register. `None` for other registers.
pub(super) fn double_number(register: PReg) -> Option<u8> {
    (register.class() == VECTORS && register.hw_enc() >= FIRST_DOUBLE).then(|| (register.hw_enc() - FIRST_DOUBLE) as u8)
}
