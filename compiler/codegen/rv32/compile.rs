//! A kernel on its way to code.

use super::listing::text;
use super::lowering::Riscv;
use super::set::Riscv32;
use crate::CodegenError;
use crate::own::words::step_pointers;
use crate::own::{Emitted, Function, KernelCompiler, compile_kernel, count_uses, sweep};
use modelc_kernel::Kernel;
use modelc_kernel::passes::DEAD;
use modelc_machine::CpuMachine;
use regalloc2::RegClass;

/// Compiler of kernels with 32-bit indices to functions of the C convention. Integers are one word each. Relocations name functions of
/// [`crate::support`] alone.
pub const KERNELS: KernelCompiler = KernelCompiler::new(compile, text);

fn compile(kernel: &Kernel, machine: &CpuMachine) -> Result<Emitted, CodegenError> {
    let joined = |function: &mut Function<_>, _: &[u32]| {
        step_pointers::<Riscv>(function, |_, _, _| false);
        let mut uses = count_uses(function);
        sweep(function, &mut uses);
    };
    compile_kernel(kernel, machine, &Riscv32::new(machine), |kernel| DEAD.of(kernel), |_| Riscv::new(machine), joined, most_in_loop)
}

/// Registers that loops may fill with what they hand on and with numbers; the rest is for what a round computes.
fn most_in_loop(class: RegClass) -> usize {
    match class {
        RegClass::Int => 16,
        _ => 20,
    }
}
