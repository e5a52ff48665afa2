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
mod listing;
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
use emit::Emitted;

/// Compiles a kernel to a function of the System V calling convention, on every target: one pointer for each of
/// [`Kernel::pointer_params`], then the 64-bit integers; it returns a 32-bit status, 0 when good. The code has no relocations.
///
/// # Errors
/// [`CodegenError::Bug`] when the kernel breaks a rule of its language.
pub fn compile_kernel(kernel: &Kernel, machine: &Machine) -> Result<Code, CodegenError> {
    Ok(compile(kernel, machine)?.code)
}

/// The instructions of a kernel as text, one a line, decoded from its bytes.
///
/// # Errors
/// As [`compile_kernel`].
pub fn listing(kernel: &Kernel, machine: &Machine) -> Result<String, CodegenError> {
    Ok(listing::text(&compile(kernel, machine)?))
}

fn compile(kernel: &Kernel, machine: &Machine) -> Result<Emitted, CodegenError> {
    verify(kernel).map_err(|error| CodegenError::Bug(error.to_string()))?;
    let mut function = lower::lower(kernel, machine)?;
    tidy::tidy(&mut function);
    let registers = Registers { vectors: usize::from(machine.registers.count()), vector_bytes: machine.vector_bytes().into() };
    let bug = |what: String| CodegenError::Bug(format!("kernel {}: {what}", kernel.name));
    let flat = Flat::new(&function, &registers);
    let output = flat.allocate(&registers).map_err(bug)?;
    emit::emit(&flat, &output, &registers).map_err(bug)
}
