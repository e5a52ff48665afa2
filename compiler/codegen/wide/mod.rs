//! Kernels to x86-64 code with vectors of 256 bits (AVX2) or 512 (AVX-512): `docs/wide.md`.

mod allocate;
mod arithmetic;
mod control;
mod convert;
mod emit;
mod encode;
mod fixed;
mod held;
mod index;
mod lower;
mod machine_ir;
mod mask;
mod memory;
mod permute;
mod rows;
mod tidy;

#[cfg(test)]
mod tests;

use super::{Code, CodegenError};
use crate::kernel::Kernel;
use crate::kernel::verify::verify;
use crate::machine::Machine;
use allocate::{Flat, Registers};

/// Compiles a kernel to a function of the System V calling convention, as [`super::clif::compile_kernel`] does.
///
/// # Errors
/// [`CodegenError::Bug`] when the kernel breaks a rule of its language.
pub fn compile_kernel(kernel: &Kernel, machine: &Machine) -> Result<Code, CodegenError> {
    verify(kernel).map_err(|error| CodegenError::Bug(error.to_string()))?;
    let mut function = lower::lower(kernel, machine)?;
    tidy::tidy(&mut function);
    let registers = Registers { vectors: usize::from(machine.vector_registers), vector_bytes: u32::from(machine.vector_bits) / 8 };
    let bug = |what: String| CodegenError::Bug(format!("kernel {}: {what}", kernel.name));
    let flat = Flat::new(&function, &registers);
    let output = flat.allocate(&registers).map_err(bug)?;
    emit::emit(&flat, &output, &registers).map_err(bug)
}
