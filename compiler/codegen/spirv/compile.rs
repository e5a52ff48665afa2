//! A kernel on its way to a module.

use super::lower::Lowering;
use crate::codegen::CodegenError;
use crate::kernel::Kernel;
use crate::kernel::passes::DEAD;
use crate::kernel::verify::verify;
use crate::machine::Gpu;
use rspirv::binary::Assemble;
use rspirv::dr;
use rspirv::spirv::{Capability, Op};

/// The words of a kernel with a grid for devices within some limits.
///
/// # Errors
/// [`CodegenError::Bug`] when the kernel breaks a rule of its language or has no grid. [`CodegenError::Unsupported`] where it needs more than
/// the limits allow, or what GPUs lack: numbers of 64 bits, products rounded towards zero.
pub fn module(kernel: &Kernel, gpu: &Gpu) -> Result<Vec<u32>, CodegenError> {
    Ok(lowered(kernel, gpu)?.assemble())
}

/// The module in the form in which it grew.
///
/// # Errors
/// As [`module`].
pub fn lowered(kernel: &Kernel, gpu: &Gpu) -> Result<dr::Module, CodegenError> {
    verify(kernel).map_err(|error| CodegenError::Bug(error.to_string()))?;
    let kernel = &DEAD.of(kernel);
    let grid = kernel.grid.ok_or_else(|| CodegenError::Bug(format!("kernel {} without a grid on a GPU", kernel.name)))?;
    let mut lowering = Lowering::new(kernel, gpu);
    if grid.workgroup > gpu.invocations {
        return Err(lowering.unsupported(format_args!("{} positions in a workgroup, of {}", grid.workgroup, gpu.invocations)));
    }
    if kernel.body.params.iter().any(|&position| kernel.ty(position).lane.bytes() != 4) {
        return Err(lowering.unsupported("a position of 64 bits"));
    }
    lowering.out.capability(Capability::Shader);
    let inputs = lowering.begin(grid);
    lowering.place_buffers()?;
    lowering.region(&kernel.body)?;
    lowering.out.effect(Op::Return, vec![]);
    Ok(lowering.out.finish(&inputs, grid.workgroup))
}
