//! Cranelift as a back end.

use super::code::Known;
use super::driver::compile_driver;
use super::{Optimise, compile_kernel, isa_for, listing, lower};
use crate::back_end::{BackEnd, Listing};
use crate::driver::language::{Function, KernelConvention};
use crate::{Code, CodegenError, RelocationKind, cpu, riscv64};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use modelc_interface::Layout;
use modelc_kernel::Kernel;
use modelc_machine::{CpuMachine, Isa};
use target_lexicon::Triple;

/// Cranelift as the back end of a machine on a target.
pub struct Cranelift<'a> {
    machine: &'a CpuMachine,
    kernels: OwnedTargetIsa,
    drivers: OwnedTargetIsa,
    /// Functions of the driver that are already compiled.
    known: Known,
}

impl<'a> Cranelift<'a> {
    /// Makes the back end of a machine on the target of a triple.
    ///
    /// # Errors
    /// The errors of [`isa_for`].
    pub fn new(machine: &'a CpuMachine, triple: &Triple) -> Result<Self, CodegenError> {
        let [kernels, drivers] = [Optimise::Kernel, Optimise::Driver].map(|optimise| isa_for(triple, machine, optimise));
        Ok(Self { machine, kernels: kernels?, drivers: drivers?, known: Known::default() })
    }

    /// Returns the name of the System V convention here. If it is C's convention, it is the target's.
    pub fn system_v(&self) -> KernelConvention {
        let is_target = self.drivers.default_call_conv() == CallConv::SystemV;
        if is_target { KernelConvention::Target } else { KernelConvention::SystemV }
    }
}

impl BackEnd for Cranelift<'_> {
    fn kernel(&self, kernel: &Kernel) -> Result<Code, CodegenError> {
        compile_kernel(kernel, &*self.kernels, self.machine)
    }

    fn kernel_convention(&self) -> KernelConvention {
        KernelConvention::Target
    }

    fn layout(&self) -> Layout {
        Layout { pointer: self.drivers.pointer_bytes().into() }
    }

    fn driver(&self, function: &Function) -> Result<Code, CodegenError> {
        compile_driver(function, &*self.drivers, &self.known)
    }

    fn distance(&self) -> Option<RelocationKind> {
        match self.machine.isa {
            Isa::X86_64 => Some(RelocationKind::X86Distance),
            Isa::Aarch64 => Some(RelocationKind::Aarch64Distance),
            Isa::Riscv64 => Some(RelocationKind::RiscvDistance),
            Isa::Thumb | Isa::Riscv32 => None,
        }
    }

    fn listing(&self, kernel: &Kernel, what: Listing) -> Result<String, CodegenError> {
        match what {
            Listing::Cranelift => Ok(lower(kernel, &*self.kernels, self.machine)?.display().to_string()),
            Listing::Machine => listing(kernel, &*self.kernels, self.machine),
        }
    }

    fn guard(&self, body: u32) -> Option<Code> {
        (self.machine.isa == Isa::Riscv64).then(|| riscv64::keep_fs1(body))
    }

    fn features(&self) -> Option<Code> {
        (self.machine.isa == Isa::X86_64).then(cpu::x86_64)
    }
}
