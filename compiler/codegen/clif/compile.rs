//! A kernel on its way through Cranelift.

use super::code;
use super::lower::lower;
use crate::codegen::{Code, CodegenError, riscv64};
use crate::kernel::Kernel;
use crate::kernel::verify::verify;
use crate::machine::{Isa, Machine};
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{Function, Opcode};
use cranelift_codegen::isa::TargetIsa;

/// Compiles a kernel to a function of the target's C calling convention: one pointer for each of
/// [`Kernel::pointer_params`], then the 64-bit integers; it returns a 32-bit status, 0 when good. The code has no relocations.
///
/// `isa` comes from [`super::isa_for`] with the same `machine` and [`super::Optimise::Kernel`].
///
/// # Errors
/// [`CodegenError::Bug`] when the kernel breaks a rule of its language or would need a symbol from outside;
/// [`CodegenError::Unsupported`] when the machine has no way to do an instruction.
pub fn compile_kernel(kernel: &Kernel, isa: &dyn TargetIsa, machine: &Machine) -> Result<Code, CodegenError> {
    let bug = |what: String| CodegenError::Bug(format!("kernel {}: {what}", kernel.name));
    verify(kernel).map_err(|error| CodegenError::Bug(error.to_string()))?;
    let function = lower(kernel, isa, machine)?;
    let rounds = machine.isa() == Some(Isa::Riscv64) && uses(&function, Opcode::SqmulRoundSat);
    let mut code = code::compile(function, isa).map_err(bug)?;
    if rounds {
        code = riscv64::round_half_up(code);
    }
    match code.relocations.first() {
        Some(relocation) => Err(bug(format!("refers to {:?}", relocation.target))),
        None => Ok(code),
    }
}

fn uses(function: &Function, opcode: Opcode) -> bool {
    let mut instructions = function.layout.blocks().flat_map(|block| function.layout.block_insts(block));
    instructions.any(|inst| function.dfg.insts[inst].opcode() == opcode)
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
