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
use crate::own::{Emitted, assemble, count_uses, lower, move_numbers, sweep};
use crate::{Code, CodegenError, index};
use modelc_kernel::passes::DEAD;
use modelc_kernel::verify::verify;
use modelc_kernel::{Kernel, Type};
use modelc_machine::CpuMachine;
use regalloc2::RegClass;

/// Compiles a kernel to a function of the procedure call standard for aarch64 (AAPCS64). It takes one pointer for each of [`Kernel::pointer_params`],
/// then the 64-bit integers. It returns a 32-bit status, 0 when good. The code has no relocations.
///
/// # Errors
/// [`CodegenError::Kernel`] if the kernel breaks a rule of its language. [`CodegenError::Unsupported`] if the machine cannot do an instruction.
pub fn compile_kernel(kernel: &Kernel, machine: &CpuMachine) -> Result<Code, CodegenError> {
    Ok(compile(kernel, machine)?.code)
}

/// Lists the instructions of a kernel, one a line, decoded from its bytes.
///
/// # Errors
/// The errors of [`compile_kernel`].
pub fn listing(kernel: &Kernel, machine: &CpuMachine) -> Result<String, CodegenError> {
    Ok(text(&compile(kernel, machine)?))
}

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
