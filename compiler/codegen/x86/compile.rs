//! Compilation of a kernel to machine code.

use super::addends::keep_addends;
use super::fold_loads::fold_loads;
use super::fold_stores::fold_stores;
use super::inst::Function;
use super::listing::text;
use super::lowering::Vectors;
use super::set::X86;
use crate::CodegenError;
use crate::own::{Emitted, KernelCompiler, compile_kernel};
use modelc_kernel::Kernel;
use modelc_kernel::passes::{DEAD, QUOTIENTS};
use modelc_machine::CpuMachine;
use regalloc2::RegClass;

/// Compiler of kernels to functions of the System V calling convention, on every target. Integers have 64 bits. The code has no relocations.
pub const KERNELS: KernelCompiler = KernelCompiler::new(compile, text);

fn compile(kernel: &Kernel, machine: &CpuMachine) -> Result<Emitted, CodegenError> {
    let set = X86::new(machine);
    let improve = |function: &mut Function, uses: &[u32]| {
        keep_addends(function, uses);
        fold_loads(function, uses, set.has_avx512());
        fold_stores(function, uses);
    };
    let prepare = |kernel: &Kernel| DEAD.after(QUOTIENTS.of(kernel));
    compile_kernel(kernel, machine, &set, prepare, |kernel| Vectors::new(kernel, machine), improve, most_in_loop)
}

/// Returns the number of registers that carried values and constants may take in a loop. Masks have seven, and two serve the values of a round.
/// Other constants are operands in memory, which cost a product nothing.
fn most_in_loop(class: RegClass) -> usize {
    if class == RegClass::Vector { 5 } else { 0 }
}
