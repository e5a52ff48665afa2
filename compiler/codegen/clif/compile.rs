//! Compilation of a kernel through Cranelift.

use super::code::{self, CodeError};
use super::lower::lower;
use crate::{Bug, Code, CodegenError, riscv64};
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{Function, Opcode};
use cranelift_codegen::isa::TargetIsa;
use modelc_kernel::Kernel;
use modelc_kernel::verify::verify;
use modelc_machine::{CpuMachine, Isa};

/// Compiles a kernel to a function of the target's C calling convention. It takes one pointer for each of [`Kernel::pointer_params`], then the 64-bit
/// integers. It returns a 32-bit status, 0 when good. The code has no relocations.
///
/// The argument `isa` comes from [`super::isa_for`] with the same `machine` and [`super::Optimise::Kernel`].
///
/// # Errors
/// [`CodegenError::Kernel`] if the kernel breaks a rule of its language. [`CodegenError::Bug`] if it would need an external symbol.
/// [`CodegenError::Unsupported`] if the machine cannot do an instruction.
pub fn compile_kernel(kernel: &Kernel, isa: &dyn TargetIsa, machine: &CpuMachine) -> Result<Code, CodegenError> {
    let refused = |error: CodeError| Bug::Cranelift { function: format!("kernel {}", kernel.name), error };
    verify(kernel)?;
    let function = lower(kernel, isa, machine)?;
    let rounds = machine.isa == Isa::Riscv64 && uses(&function, Opcode::SqmulRoundSat);
    let mut code = code::compile(function, isa).map_err(refused)?;
    if rounds {
        code = riscv64::round_half_up(code);
    }
    match code.relocations.first() {
        Some(relocation) => Err(refused(CodeError::Refers(relocation.target)).into()),
        None => Ok(code),
    }
}

fn uses(function: &Function, opcode: Opcode) -> bool {
    let mut instructions = function.layout.blocks().flat_map(|block| function.layout.block_insts(block));
    instructions.any(|inst| function.dfg.insts[inst].opcode() == opcode)
}

/// Lists the instructions of a kernel, one a line, in blocks.
///
/// # Errors
/// The errors of [`compile_kernel`].
pub fn listing(kernel: &Kernel, isa: &dyn TargetIsa, machine: &CpuMachine) -> Result<String, CodegenError> {
    let mut context = Context::for_function(lower(kernel, isa, machine)?);
    context.set_disasm(true);
    let compiled = context
        .compile(isa, &mut ControlPlane::default())
        .map_err(|e| Bug::Cranelift { function: format!("kernel {}", kernel.name), error: CodeError::Refused(e.inner.to_string()) })?;
    Ok(compiled.vcode.clone().unwrap_or_default())
}
