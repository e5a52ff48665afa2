//! Compilation of a kernel to machine code.

use super::couple::couple;
use super::elements::join_loads;
use super::fours::load_fours;
use super::listing::text;
use super::lowering::Neon;
use super::near::bring_near;
use super::reloads::load_again;
use super::set::Arm64;
use super::starts::load_starts;
use crate::own::{Emitted, KernelCompiler, assemble, count_uses, lower, move_numbers, sweep};
use crate::{CodegenError, index};
use modelc_kernel::passes::DEAD;
use modelc_kernel::verify::verify;
use modelc_kernel::{Kernel, Type};
use modelc_machine::CpuMachine;
use regalloc2::RegClass;

/// Compiler of kernels to functions of the procedure call standard for aarch64 (AAPCS64). Integers have 64 bits. The code has no relocations.
pub const KERNELS: KernelCompiler = KernelCompiler::new(compile, text);

fn compile(kernel: &Kernel, machine: &CpuMachine) -> Result<Emitted, CodegenError> {
    verify(kernel)?;
    index::check(kernel, Type::INDEX)?;
    let kernel = &DEAD.of(kernel);
    let mut function = lower(kernel, Neon::new(kernel, machine))?;
    let mut uses = count_uses(&function);
    sweep(&mut function, &mut uses);
    join_loads(&mut function, &uses);
    load_starts(&mut function, &uses);
    load_fours(&mut function);
    load_again(&mut function);
    bring_near(&mut function);
    couple(&mut function);
    move_numbers(&mut function, most_in_loop);
    assemble(&Arm64::new(machine), &function).map_err(|error| CodegenError::assembly(format!("kernel {}", kernel.name), error))
}

/// Returns the number of registers that carried values and constants may take in a loop. The others are for the values of a round.
fn most_in_loop(class: RegClass) -> usize {
    match class {
        RegClass::Int => 16,
        _ => 24,
    }
}
