//! Kernels through Cranelift: vectors of 128 bits on x86-64 and aarch64, scalars on riscv64.

mod address;
mod arithmetic;
mod control;
mod convert;
mod dot;
mod fixed;
mod half;
mod held;
pub mod isa;
mod lower;
mod mask;
mod memory;
mod parts;
mod permute;
mod shift;

pub use isa::{Optimise, isa_for};
pub use lower::lower;

use crate::codegen::{Code, CodegenError};
use crate::kernel::Kernel;
use crate::kernel::verify::verify;
use crate::machine::Machine;
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::TargetIsa;

/// Compiles a kernel to a function of the target's C calling convention: one pointer for each of
/// [`Kernel::pointer_params`], then the 64-bit integers; it returns a 32-bit status, 0 when good. The code has no relocations.
///
/// `isa` comes from [`isa_for`] with the same `machine` and [`Optimise::Kernel`].
///
/// # Errors
/// [`CodegenError::Bug`] when the kernel breaks a rule of its language or would need a symbol from outside;
/// [`CodegenError::Unsupported`] when the machine has no way to do an instruction.
pub fn compile_kernel(kernel: &Kernel, isa: &dyn TargetIsa, machine: &Machine) -> Result<Code, CodegenError> {
    let bug = |what: String| CodegenError::Bug(format!("kernel {}: {what}", kernel.name));
    verify(kernel).map_err(|error| CodegenError::Bug(error.to_string()))?;
    let code = Code::compile(lower(kernel, isa, machine)?, isa).map_err(bug)?;
    match code.relocations.first() {
        Some(relocation) => Err(bug(format!("refers to {:?}", relocation.target))),
        None => Ok(code),
    }
}

/// The instructions of a kernel as text, one a line, in blocks.
///
/// # Errors
/// As [`compile_kernel`].
pub fn listing(kernel: &Kernel, isa: &dyn TargetIsa, machine: &Machine) -> Result<String, CodegenError> {
    let mut context = Context::for_function(lower(kernel, isa, machine)?);
    context.set_disasm(true);
    let compiled = context
        .compile(isa, &mut ControlPlane::default())
        .map_err(|e| CodegenError::Bug(format!("kernel {}: {:?}", kernel.name, e.inner)))?;
    Ok(compiled.vcode.clone().unwrap_or_default())
}

#[cfg(test)]
mod tests;
