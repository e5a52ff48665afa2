//! Functions of the driver and functions that kernels call on their way to code.

use super::driver::lower_driver;
use super::functions::lower_support;
use super::inst::{Inst, Operations};
use super::ops::Words;
use super::set::WordSet;
use crate::driver::language as driver;
use crate::own::{Function, InstructionSet, Lowering, assemble, count_uses, sweep};
use crate::support::Support;
use crate::{Code, CodegenError};
use modelc_interface::Layout;
use modelc_machine::CpuMachine;

/// Layout of C's data on machines of 32-bit words.
pub const LAYOUT: Layout = Layout { pointer: 4 };

/// Compiles a function of the driver, for a machine.
///
/// # Errors
/// [`CodegenError::Driver`] when the function breaks a rule of its language.
pub fn word_driver<S: WordSet>(
    function: &driver::Function,
    machine: &CpuMachine,
    set: &impl InstructionSet<Inst = Inst<S::Own>>,
    state: S,
) -> Result<Code, CodegenError>
where
    for<'a> Lowering<'a, S>: Words<Relation = <S::Own as Operations>::Relation>,
{
    driver::verify::verify(function, LAYOUT).map_err(CodegenError::Driver)?;
    finished(lower_driver(function, machine, state)?, set, "a function of the driver")
}

/// Compiles a function that kernels call, for a machine.
///
/// # Errors
/// [`CodegenError::Bug`] when the function cannot be compiled.
pub fn word_support<S: WordSet>(
    what: Support,
    machine: &CpuMachine,
    set: &impl InstructionSet<Inst = Inst<S::Own>>,
    state: S,
) -> Result<Code, CodegenError>
where
    for<'a> Lowering<'a, S>: Words<Relation = <S::Own as Operations>::Relation>,
{
    finished(lower_support(what, machine, state), set, &format!("{what:?}"))
}

/// Removes unused instructions of a function, and assembles it.
fn finished<I: InstructionSet>(mut function: Function<I::Inst>, set: &I, what: &str) -> Result<Code, CodegenError> {
    let mut uses = count_uses(&function);
    sweep(&mut function, &mut uses);
    Ok(assemble(set, &function).map_err(|error| CodegenError::assembly(what, error))?.code)
}
