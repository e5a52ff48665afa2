//! A module as text, one instruction a line.

use super::compile::lowered;
use crate::codegen::CodegenError;
use crate::kernel::Kernel;
use crate::machine::Gpu;
use rspirv::binary::Disassemble;

/// The instructions of a kernel.
///
/// # Errors
/// As [`super::module`].
pub fn listing(kernel: &Kernel, gpu: &Gpu) -> Result<String, CodegenError> {
    Ok(lowered(kernel, gpu)?.disassemble())
}
