//! The registers of 32-bit RISC-V, by their numbers in instructions, and what its procedure call standard (psABI) makes of them.

use regalloc2::RegClass;
use std::ops::Range;

/// General-purpose registers.
pub(super) const GENERAL: RegClass = RegClass::Int;
/// Registers of binary32.
pub(super) const SINGLE: RegClass = RegClass::Float;

/// Always 0.
pub(super) const ZERO: u8 = 0;
/// The return address; any number once that is saved.
pub(super) const RA: u8 = 1;
/// The stack pointer.
pub(super) const SP: u8 = 2;
/// t6, which holds what a sequence needs on its way: far addresses, and steps of the stack pointer. The allocator does not have it.
pub(super) const SCRATCH: u8 = 31;

/// Registers of parameters and results, a0 and those after it. Other parameters are on the stack.
pub(super) const PARAMETERS: Range<usize> = 10..18;

/// Registers that calls may change: of words, those of parameters first, of which short instructions can name six.
pub(super) const CHANGED: [Range<usize>; 3] = [10..18, 5..8, 28..31];
/// Registers of words that a function must save, beside the return address.
pub(super) const SAVED: [Range<usize>; 2] = [8..10, 18..28];
/// Registers of binary32 that calls may change.
pub(super) const CHANGED_SINGLES: [Range<usize>; 3] = [10..18, 0..8, 28..32];
/// Registers of binary32 that a function must save where the ABI keeps them.
pub(super) const SAVED_SINGLES: [Range<usize>; 2] = [8..10, 18..28];

/// Tells whether short instructions can name a register by three bits: x8 to x15.
pub(super) fn is_low(register: u8) -> bool {
    register & !7 == 8
}
