//! Compilation of kernels by an instruction set: to code, and to a listing.

use super::layout::Emitted;
use crate::back_end::Listing;
use crate::{Code, CodegenError, Unsupported};
use modelc_kernel::Kernel;
use modelc_machine::CpuMachine;

/// A compiler of kernels for an instruction set. Code keeps to the C convention that the set names, and has a pointer for each of
/// [`Kernel::pointer_params`], then the integers. It returns a 32-bit status, 0 when good.
#[derive(Clone, Copy)]
pub struct KernelCompiler {
    compile: fn(&Kernel, &CpuMachine) -> Result<Emitted, CodegenError>,
    print: fn(&Emitted) -> String,
}

impl KernelCompiler {
    /// Makes a compiler of two functions: `compile` emits a kernel, and `print` lists its instructions.
    pub const fn new(compile: fn(&Kernel, &CpuMachine) -> Result<Emitted, CodegenError>, print: fn(&Emitted) -> String) -> Self {
        Self { compile, print }
    }

    /// Compiles a kernel.
    ///
    /// # Errors
    /// [`CodegenError::Kernel`] if the kernel breaks a rule of its language. [`CodegenError::Unsupported`] if the machine cannot do an instruction.
    pub fn code(&self, kernel: &Kernel, machine: &CpuMachine) -> Result<Code, CodegenError> {
        Ok((self.compile)(kernel, machine)?.code)
    }

    /// Lists the instructions of a kernel, one a line, as its bytes say.
    ///
    /// # Errors
    /// The errors of [`Self::code`].
    pub fn text(&self, kernel: &Kernel, machine: &CpuMachine) -> Result<String, CodegenError> {
        Ok((self.print)(&(self.compile)(kernel, machine)?))
    }

    /// Lists a kernel in a language.
    ///
    /// # Errors
    /// The errors of [`Self::code`]. [`CodegenError::Unsupported`] for Cranelift's language, which these kernels never have.
    pub fn listing(&self, kernel: &Kernel, machine: &CpuMachine, what: Listing) -> Result<String, CodegenError> {
        match what {
            Listing::Cranelift => Err(Unsupported::NotCranelift(machine.level).into()),
            Listing::Machine => self.text(kernel, machine),
        }
    }
}
