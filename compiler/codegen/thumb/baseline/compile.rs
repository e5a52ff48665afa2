//! Compilation of a kernel to machine code.

use super::apart::keep_apart;
use super::inst::Inst;
use super::level::Level;
use super::lowering::Baseline;
use super::set::Thumb1;
use super::tie::tie_operands;
use crate::CodegenError;
use crate::own::words::step_pointers;
use crate::own::{Emitted, Function, compile_kernel, count_uses, sweep};
use modelc_kernel::Kernel;
use modelc_kernel::passes::DEAD;
use modelc_machine::CpuMachine;
use regalloc2::RegClass;

/// Compiles a kernel with 32-bit indices to a function of the procedure call standard for Arm (AAPCS). It takes one pointer for each of
/// [`Kernel::pointer_params`], then the integers, one word each. It returns a status, 0 when good. Relocations name support functions alone.
///
/// # Errors
/// [`CodegenError::Bug`] if the kernel breaks a rule of its language. [`CodegenError::Unsupported`] if the machine cannot do an instruction.
pub fn compile(kernel: &Kernel, machine: &CpuMachine) -> Result<Emitted, CodegenError> {
    let joined = |function: &mut Function<Inst>, _: &[u32]| {
        step_pointers::<Baseline>(function, |_, _, _| false);
        let mut uses = count_uses(function);
        sweep(function, &mut uses);
        tie_operands(function, &count_uses(function));
        keep_apart(function);
    };
    compile_kernel(kernel, machine, &Thumb1(Level::of(machine)), |kernel| DEAD.of(kernel), |_| Baseline::new(machine), joined, most_in_loop)
}

/// Returns the number of registers that carried values and constants may take in a loop. The others are for the values of a round.
fn most_in_loop(_: RegClass) -> usize {
    5
}
