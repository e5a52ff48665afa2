//! Compilation of a kernel to machine code.

use super::baseline::{self, is_baseline};
use super::counts::share_counts;
use super::even::even_sums;
use super::fuse::fuse;
use super::listing::text;
use super::lowering::Thumb;
use super::pairs::pair_words;
use super::rounds::count_rounds;
use super::set::Thumb2;
use super::steps::step_by_access;
use super::sums::keep_sums;
use crate::CodegenError;
use crate::own::words::step_pointers;
use crate::own::{Emitted, Function, KernelCompiler, compile_kernel, count_uses, sweep};
use modelc_kernel::Kernel;
use modelc_kernel::passes::DEAD;
use modelc_machine::{CpuMachine, Extension};
use regalloc2::RegClass;

/// Compiler of kernels with 32-bit indices to functions of the procedure call standard for Arm (AAPCS). Integers are one word each. Relocations
/// name functions of [`crate::support`] alone.
pub const KERNELS: KernelCompiler = KernelCompiler::new(compile, text);

fn compile(kernel: &Kernel, machine: &CpuMachine) -> Result<Emitted, CodegenError> {
    if is_baseline(machine) {
        return baseline::compile(kernel, machine);
    }
    let state = |kernel: &Kernel| Thumb::new(kernel, machine);
    let joined = |function: &mut Function<_>, uses: &[u32]| {
        fuse(function, uses, machine.has(Extension::Dsp));
        step_pointers::<Thumb>(function, |function, round, numbers| machine.has(Extension::Mve) && count_rounds(function, round, numbers));
        pair_words(function);
        step_by_access(function);
        let mut uses = count_uses(function);
        sweep(function, &mut uses);
        keep_sums(function, &count_uses(function));
        even_sums(function);
        share_counts(function);
    };
    compile_kernel(kernel, machine, &Thumb2::of_kernel(kernel, machine), |kernel| DEAD.of(kernel), state, joined, most_in_loop)
}

/// Returns the number of registers that carried values and constants may take in a loop. The others are for the values of a round.
fn most_in_loop(class: RegClass) -> usize {
    match class {
        RegClass::Int => 7,
        _ => 20,
    }
}
