//! This code generation as a back end: kernels and the driver, without Cranelift, which has no such target.

use super::driver::{compile_driver, compile_support};
use super::{compile_kernel, listing};
use crate::codegen::back_end::{BackEnd, Listing};
use crate::codegen::driver::language::{Function, KernelConvention};
use crate::codegen::own::words::LAYOUT;
use crate::codegen::support::Support;
use crate::codegen::{Code, CodegenError};
use crate::interface::Layout;
use crate::kernel::Kernel;
use crate::machine::Machine;

/// A core of 32-bit RISC-V.
pub struct Rv32<'a> {
    machine: &'a Machine,
}

impl<'a> Rv32<'a> {
    /// The back end of a machine.
    pub fn new(machine: &'a Machine) -> Self {
        Self { machine }
    }
}

impl BackEnd for Rv32<'_> {
    fn kernel(&self, kernel: &Kernel) -> Result<Code, CodegenError> {
        compile_kernel(kernel, self.machine)
    }

    fn kernel_convention(&self) -> KernelConvention {
        KernelConvention::Target
    }

    fn layout(&self) -> Layout {
        LAYOUT
    }

    fn driver(&self, function: &Function) -> Result<Code, CodegenError> {
        compile_driver(function, self.machine)
    }

    fn support(&self, what: Support) -> Result<Code, CodegenError> {
        compile_support(what, self.machine)
    }

    fn listing(&self, kernel: &Kernel, what: Listing) -> Result<String, CodegenError> {
        match what {
            Listing::Cranelift => Err(CodegenError::Unsupported(format!("kernels for {} do not go through Cranelift", self.machine.level))),
            Listing::Machine => listing(kernel, self.machine),
        }
    }

    fn guard(&self, _: u32) -> Option<Code> {
        None
    }

    fn features(&self) -> Option<Code> {
        None
    }
}
