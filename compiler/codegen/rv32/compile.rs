//! A kernel on its way to code.

use super::listing::text;
use super::lowering::Riscv;
use super::set::Riscv32;
use crate::own::words::{step_pointers, word_kernel};
use crate::own::{Emitted, Function, count_uses, sweep};
use crate::{Code, CodegenError};
use modelc_kernel::Kernel;
use modelc_machine::CpuMachine;
use regalloc2::RegClass;

/// Compiles a kernel with narrow indices to a function of the C convention. It has one pointer for each of [`Kernel::pointer_params`], then the
/// integers, a word each. It returns a status, which is 0 if there is no error. Its relocations name functions of [`crate::support`] alone.
///
/// # Errors
/// [`CodegenError::Kernel`] when the kernel breaks a rule of its language; [`CodegenError::Unsupported`] when the machine has no way to do an instruction.
pub fn compile_kernel(kernel: &Kernel, machine: &CpuMachine) -> Result<Code, CodegenError> {
    Ok(compile(kernel, machine)?.code)
}

/// The instructions of a kernel as text, one a line.
///
/// # Errors
/// As [`compile_kernel`].
pub fn listing(kernel: &Kernel, machine: &CpuMachine) -> Result<String, CodegenError> {
    Ok(text(&compile(kernel, machine)?))
}

fn compile(kernel: &Kernel, machine: &CpuMachine) -> Result<Emitted, CodegenError> {
    let joined = |function: &mut Function<_>, _: &[u32]| {
        step_pointers::<Riscv>(function, |_, _, _| false);
        let mut uses = count_uses(function);
        sweep(function, &mut uses);
    };
    word_kernel(kernel, &Riscv32::new(machine), |kernel| Riscv::new(kernel, machine), joined, most_in_loop)
}

/// Registers that loops may fill with what they hand on and with numbers; the rest is for what a round computes.
fn most_in_loop(class: RegClass) -> usize {
    match class {
        RegClass::Int => 16,
        _ => 20,
    }
}
