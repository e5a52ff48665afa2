//! A kernel on its way to code.

use super::fuse::fuse;
use super::listing::text;
use super::lowering::Thumb;
use super::pairs::pair_words;
use super::pointers::step_pointers;
use super::set::{Thumb2, has_dsp};
use super::steps::step_by_access;
use crate::codegen::own::{Emitted, assemble, count_uses, lower, move_numbers, sweep};
use crate::codegen::{Code, CodegenError, index};
use crate::kernel::passes::DEAD;
use crate::kernel::verify::verify;
use crate::kernel::{Kernel, Lane, Type};
use crate::machine::Machine;
use regalloc2::RegClass;

/// Compiles a kernel with narrow indices to a function of the procedure call standard for Arm (AAPCS): one pointer for each of
/// [`Kernel::pointer_params`], then the integers, a word each; it returns a status, 0 when good. The code has no relocations.
///
/// # Errors
/// [`CodegenError::Bug`] when the kernel breaks a rule of its language; [`CodegenError::Unsupported`] when the machine has no way to do an instruction.
pub fn compile_kernel(kernel: &Kernel, machine: &Machine) -> Result<Code, CodegenError> {
    Ok(compile(kernel, machine)?.code)
}

/// The instructions of a kernel as text, one a line.
///
/// # Errors
/// As [`compile_kernel`].
pub fn listing(kernel: &Kernel, machine: &Machine) -> Result<String, CodegenError> {
    Ok(text(&compile(kernel, machine)?))
}

fn compile(kernel: &Kernel, machine: &Machine) -> Result<Emitted, CodegenError> {
    verify(kernel).map_err(|error| CodegenError::Bug(error.to_string()))?;
    index::check(kernel, Type::scalar(Lane::I32))?;
    let kernel = &DEAD.of(kernel);
    let mut function = lower(kernel, Thumb::new(kernel, machine))?;
    let mut uses = count_uses(&function);
    sweep(&mut function, &mut uses);
    fuse(&mut function, &uses, has_dsp(machine));
    step_pointers(&mut function);
    pair_words(&mut function);
    step_by_access(&mut function);
    let mut uses = count_uses(&function);
    sweep(&mut function, &mut uses);
    move_numbers(&mut function, most_in_loop);
    assemble(&Thumb2::new(machine), &function).map_err(|what| CodegenError::Bug(format!("kernel {}: {what}", kernel.name)))
}

/// Registers that loops may fill with what they hand on and with numbers; the rest is for what a round computes.
fn most_in_loop(class: RegClass) -> usize {
    match class {
        RegClass::Int => 7,
        _ => 20,
    }
}
