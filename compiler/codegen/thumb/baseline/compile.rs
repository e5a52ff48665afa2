//! Compilation of a kernel to machine code.

use super::lowering::Baseline;
use super::set::Thumb1;
use super::tie::tie_operands;
use crate::codegen::CodegenError;
use crate::codegen::own::Emitted;
use crate::codegen::own::words::word_kernel;
use crate::kernel::Kernel;
use regalloc2::RegClass;

/// Compiles a kernel with 32-bit indices to a function of the procedure call standard for Arm (AAPCS). It takes one pointer for each of
/// [`Kernel::pointer_params`], then the integers, one word each. It returns a status, 0 when good. Relocations name support functions alone.
///
/// # Errors
/// [`CodegenError::Bug`] if the kernel breaks a rule of its language. [`CodegenError::Unsupported`] if the machine cannot do an instruction.
pub fn compile(kernel: &Kernel) -> Result<Emitted, CodegenError> {
    word_kernel(kernel, &Thumb1, Baseline::new, tie_operands, most_in_loop)
}

/// Returns the number of registers that carried values and constants may take in a loop. The others are for the values of a round.
fn most_in_loop(_: RegClass) -> usize {
    5
}
