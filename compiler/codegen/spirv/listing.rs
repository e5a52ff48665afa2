//! The text of a module, one instruction a line.

use super::compile::lowered;
use crate::CodegenError;
use modelc_machine::Gpu;
use modelc_program::DeviceKernel;
use rspirv::binary::Disassemble;

/// Prints the instructions of a kernel.
///
/// # Errors
/// The errors of [`super::module`].
pub fn listing(kernel: &DeviceKernel, gpu: &Gpu) -> Result<String, CodegenError> {
    Ok(lowered(kernel, gpu)?.disassemble())
}
