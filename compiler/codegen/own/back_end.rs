//! The back end of machines with 64-bit registers. It compiles kernels; Cranelift compiles the driver.

use super::kernels::KernelCompiler;
use crate::back_end::{BackEnd, Listing};
use crate::clif::Cranelift;
use crate::driver::language::{Function, KernelConvention};
use crate::{Code, CodegenError, RelocationKind};
use modelc_interface::Layout;
use modelc_kernel::Kernel;
use modelc_machine::CpuMachine;

/// Back end for a machine with 64-bit registers.
pub struct LongBackEnd<'a> {
    machine: &'a CpuMachine,
    kernels: KernelCompiler,
    convention: KernelConvention,
    driver: Cranelift<'a>,
}

impl<'a> LongBackEnd<'a> {
    /// Makes the back end of a machine, with the kernels of its instruction set and their calling convention.
    pub fn new(machine: &'a CpuMachine, kernels: KernelCompiler, convention: KernelConvention, driver: Cranelift<'a>) -> Self {
        Self { machine, kernels, convention, driver }
    }
}

impl BackEnd for LongBackEnd<'_> {
    fn kernel(&self, kernel: &Kernel) -> Result<Code, CodegenError> {
        self.kernels.code(kernel, self.machine)
    }

    fn kernel_convention(&self) -> KernelConvention {
        self.convention
    }

    fn layout(&self) -> Layout {
        self.driver.layout()
    }

    fn driver(&self, function: &Function) -> Result<Code, CodegenError> {
        self.driver.driver(function)
    }

    fn distance(&self) -> Option<RelocationKind> {
        self.driver.distance()
    }

    fn listing(&self, kernel: &Kernel, what: Listing) -> Result<String, CodegenError> {
        self.kernels.listing(kernel, self.machine, what)
    }

    fn guard(&self, body: u32) -> Option<Code> {
        self.driver.guard(body)
    }

    fn features(&self) -> Option<Code> {
        self.driver.features()
    }
}
