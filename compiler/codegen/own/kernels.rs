//! Compilation of kernels by an instruction set: to code, and to a listing.

use super::assemble::assemble;
use super::function::Function;
use super::inst::Inst;
use super::instruction::InstructionSet;
use super::invariants::move_numbers;
use super::layout::Emitted;
use super::lowering::{Select, lower};
use super::tidy::{count_uses, sweep};
use crate::back_end::Listing;
use crate::{Code, CodegenError, Unsupported, index};
use modelc_kernel::Kernel;
use modelc_kernel::verify::verify;
use modelc_machine::CpuMachine;
use regalloc2::RegClass;

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

/// Compiles a kernel for a machine. `prepare` rewrites it, and `state` makes the state of its lowering. `improve` gets the instructions and how often
/// each register is used. `most_in_loop` is for [`move_numbers`].
///
/// # Errors
/// The errors of [`KernelCompiler::code`].
pub fn compile_kernel<S: Select, I: InstructionSet<Inst = Inst<S::Op>>>(
    kernel: &Kernel,
    machine: &CpuMachine,
    set: &I,
    prepare: fn(&Kernel) -> Kernel,
    state: impl Fn(&Kernel) -> S,
    improve: impl Fn(&mut Function<I::Inst>, &[u32]),
    most_in_loop: fn(RegClass) -> usize,
) -> Result<Emitted, CodegenError> {
    verify(kernel)?;
    index::check(kernel, S::INDEX)?;
    let kernel = &prepare(kernel);
    let mut function = lower(kernel, machine, state(kernel))?;
    let mut uses = count_uses(&function);
    sweep(&mut function, &mut uses);
    improve(&mut function, &uses);
    move_numbers(&mut function, most_in_loop);
    assemble(set, &function).map_err(|error| CodegenError::assembly(format!("kernel {}", kernel.name), error))
}
