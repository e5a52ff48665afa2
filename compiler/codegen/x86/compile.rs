//! Compilation of a kernel to machine code.

use super::addends::keep_addends;
use super::fold_loads::fold_loads;
use super::fold_stores::fold_stores;
use super::listing::text;
use super::lowering::Vectors;
use super::set::X86;
use crate::own::{Emitted, KernelCompiler, assemble, count_uses, lower, move_numbers, sweep};
use crate::{CodegenError, index};
use modelc_kernel::passes::{DEAD, QUOTIENTS};
use modelc_kernel::verify::verify;
use modelc_kernel::{Kernel, Type};
use modelc_machine::CpuMachine;
use regalloc2::RegClass;

/// Compiler of kernels to functions of the System V calling convention, on every target. Integers have 64 bits. The code has no relocations.
pub const KERNELS: KernelCompiler = KernelCompiler::new(compile, text);

fn compile(kernel: &Kernel, machine: &CpuMachine) -> Result<Emitted, CodegenError> {
    verify(kernel)?;
    index::check(kernel, Type::INDEX)?;
    let kernel = &DEAD.after(QUOTIENTS.of(kernel));
    let set = X86::new(machine);
    let mut function = lower(kernel, Vectors::new(kernel, machine))?;
    let mut uses = count_uses(&function);
    sweep(&mut function, &mut uses);
    keep_addends(&mut function, &uses);
    fold_loads(&mut function, &uses, set.has_avx512());
    fold_stores(&mut function, &uses);
    move_numbers(&mut function, most_in_loop);
    assemble(&set, &function).map_err(|error| CodegenError::assembly(format!("kernel {}", kernel.name), error))
}

/// Returns the number of registers that carried values and constants may take in a loop. Masks have seven, and two serve the values of a round.
/// Other constants are operands in memory, which cost a product nothing.
fn most_in_loop(class: RegClass) -> usize {
    if class == RegClass::Vector { 5 } else { 0 }
}
