//! Narrows 64-bit indices to 32 bits if this is safe, for machines with 32-bit registers.
//!
//! A value is narrowed if it fits 32 bits with its sign, or if only its low 32 bits are used. The index of an access is such a use: the access is
//! inside its buffer. The low half of a sum, a product or a bitwise operation depends only on the low halves of its operands. All other values keep
//! 64 bits, and conversions connect both kinds.

mod rewrite;
mod widths;

use crate::Kernel;
use crate::intervals::Assumed;
use crate::verify::verify;
use widths::Widths;

/// Returns the kernel with narrow indices. It computes the same bits as the verified kernel, if callers keep what is assumed. Integer parameters and
/// loaded extents keep their 64 bits; the position of a grid does not.
///
/// # Panics
/// In debug builds, if the result breaks a rule of the language.
#[must_use]
pub fn narrow(kernel: &Kernel, assumed: &Assumed) -> Kernel {
    let mut narrowed = rewrite::rewrite(kernel, &Widths::of(kernel, assumed));
    super::dead::run(&mut narrowed);
    debug_assert_eq!(verify(&narrowed), Ok(()), "narrow of\n{kernel}\ngives\n{narrowed}");
    narrowed
}
