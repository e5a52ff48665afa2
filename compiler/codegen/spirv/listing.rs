//! A module as text, one instruction a line.

use super::compile::lowered;
use crate::codegen::CodegenError;
use crate::machine::Gpu;
use crate::program::DeviceKernel;
use rspirv::binary::Disassemble;

/// The instructions of a kernel.
///
/// # Errors
/// As [`super::module`].
pub fn listing(kernel: &DeviceKernel, gpu: &Gpu) -> Result<String, CodegenError> {
    Ok(lowered(kernel, gpu)?.disassemble())
}
