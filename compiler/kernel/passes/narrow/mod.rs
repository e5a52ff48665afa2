//! Indices of 64 bits become indices of 32 bits where these do, for machines with registers of 32 bits.
//!
//! They do for a value that lies in 32 bits, sign included, and for one of which only the low half is wanted: what an access takes as its
//! index lies inside a buffer, so the low half of that says all, and the low half of a sum, a product or a bitwise operation follows from the
//! low halves of its operands. What remains has 64 bits; where both meet there is a conversion.

mod rewrite;
mod widths;

use crate::kernel::Kernel;
use crate::kernel::intervals::Assumed;
use crate::kernel::verify::verify;
use widths::Widths;

/// The kernel with narrow indices, which computes the same bits as a verified one whose callers keep what is assumed. Its integer parameters, and the
/// extents that it loads, keep their 64 bits. The position of a grid does not.
///
/// # Panics
/// In debug builds, if it breaks a rule of the language.
#[must_use]
pub fn narrow(kernel: &Kernel, assumed: &Assumed) -> Kernel {
    let mut narrowed = rewrite::rewrite(kernel, &Widths::of(kernel, assumed));
    super::dead::run(&mut narrowed);
    debug_assert_eq!(verify(&narrowed), Ok(()), "narrow of\n{kernel}\ngives\n{narrowed}");
    narrowed
}
