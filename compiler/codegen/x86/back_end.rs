//! The back end for wide vectors on x86-64. Cranelift compiles the driver.

use super::{compile_kernel, listing};
use crate::back_end::{BackEnd, Listing};
use crate::clif::Cranelift;
use crate::driver::language::{Function, KernelConvention};
use crate::{Code, CodegenError, RelocationKind, Unsupported};
use modelc_interface::Layout;
use modelc_kernel::Kernel;
use modelc_machine::CpuMachine;

/// Back end for kernels with vectors of more than 128 bits on x86-64.
pub struct Wide<'a> {
    machine: &'a CpuMachine,
    driver: Cranelift<'a>,
}

impl<'a> Wide<'a> {
    /// Makes the back end of a machine with such vectors.
    pub fn new(machine: &'a CpuMachine, driver: Cranelift<'a>) -> Self {
        Self { machine, driver }
    }
}

impl BackEnd for Wide<'_> {
    fn kernel(&self, kernel: &Kernel) -> Result<Code, CodegenError> {
        compile_kernel(kernel, self.machine)
    }

    fn kernel_convention(&self) -> KernelConvention {
        self.driver.system_v()
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
        match what {
            Listing::Cranelift => Err(Unsupported::NotCranelift(self.machine.level).into()),
            Listing::Machine => listing(kernel, self.machine),
        }
    }

    fn guard(&self, body: u32) -> Option<Code> {
        self.driver.guard(body)
    }

    fn features(&self) -> Option<Code> {
        self.driver.features()
    }
}
