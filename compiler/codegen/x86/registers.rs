//! Registers of x86-64 by their numbers in instructions, and their roles in the System V convention.

use super::rows::File;
use regalloc2::RegClass;

/// General-purpose registers.
pub(super) const GENERAL: RegClass = RegClass::Int;
/// Vector registers.
pub(super) const VECTOR: RegClass = RegClass::Float;
/// Mask registers of AVX-512.
pub(super) const MASK: RegClass = RegClass::Vector;

/// The register of results.
pub(super) const RAX: u8 = 0;
/// The stack pointer.
pub(super) const RSP: u8 = 4;
/// The frame pointer.
pub(super) const RBP: u8 = 5;

/// Registers of parameters, in order; further parameters are on the stack.
pub(super) const PARAMETERS: [usize; 6] = [7, 6, 2, 1, 8, 9];
/// Registers that a function may change.
pub(super) const VOLATILE: [usize; 9] = [0, 1, 2, 6, 7, 8, 9, 10, 11];
/// Registers that a function must save. rbp is the frame pointer.
pub(super) const SAVED: [usize; 5] = [3, 12, 13, 14, 15];

/// Returns the register class of a file.
pub(super) fn class(file: File) -> RegClass {
    match file {
        File::General => GENERAL,
        File::Vector => VECTOR,
        File::Mask => MASK,
    }
}
