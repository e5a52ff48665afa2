//! The back end of machines with 32-bit words. It compiles kernels and the driver, because Cranelift does not have these targets.

use super::compile::LAYOUT;
use crate::back_end::{BackEnd, Listing};
use crate::driver::language::{Function, KernelConvention};
use crate::own::KernelCompiler;
use crate::support::Support;
use crate::{Code, CodegenError, RelocationKind};
use modelc_interface::Layout;
use modelc_kernel::Kernel;
use modelc_machine::CpuMachine;

/// Functions of an instruction set that compile for a machine.
pub struct Compilers {
    /// Compiles kernels.
    pub kernels: KernelCompiler,
    /// Compiles a function of the driver.
    pub driver: fn(&Function, &CpuMachine) -> Result<Code, CodegenError>,
    /// Compiles a function that kernels call.
    pub support: fn(Support, &CpuMachine) -> Result<Code, CodegenError>,
    /// Encoding of a distance to a function in a word of data.
    pub distance: RelocationKind,
}

/// Back end for a machine with 32-bit words.
pub struct WordBackEnd<'a> {
    machine: &'a CpuMachine,
    compilers: Compilers,
}

impl<'a> WordBackEnd<'a> {
    /// Makes the back end of a machine, with the functions of its instruction set.
    pub fn new(machine: &'a CpuMachine, compilers: Compilers) -> Self {
        Self { machine, compilers }
    }
}

impl BackEnd for WordBackEnd<'_> {
    fn kernel(&self, kernel: &Kernel) -> Result<Code, CodegenError> {
        self.compilers.kernels.code(kernel, self.machine)
    }

    fn kernel_convention(&self) -> KernelConvention {
        KernelConvention::Target
    }

    fn layout(&self) -> Layout {
        LAYOUT
    }

    fn driver(&self, function: &Function) -> Result<Code, CodegenError> {
        (self.compilers.driver)(function, self.machine)
    }

    fn support(&self, what: Support) -> Result<Code, CodegenError> {
        (self.compilers.support)(what, self.machine)
    }

    fn distance(&self) -> Option<RelocationKind> {
        Some(self.compilers.distance)
    }

    fn listing(&self, kernel: &Kernel, what: Listing) -> Result<String, CodegenError> {
        self.compilers.kernels.listing(kernel, self.machine, what)
    }

    fn guard(&self, _: u32) -> Option<Code> {
        None
    }

    fn features(&self) -> Option<Code> {
        None
    }
}
