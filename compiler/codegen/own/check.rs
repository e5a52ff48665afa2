//! Whether an allocation does what the function says, by the checker of `regalloc2`: every use reads what its definition wrote, through
//! all moves and spills, on every way there.

use super::allocate::Flat;
use super::instruction::Instruction;
use regalloc2::checker::Checker;
use regalloc2::{MachineEnv, Output};

/// Checks an allocation.
///
/// # Errors
/// With the checker's words: a mistake of the allocator, or of what we tell it.
pub(super) fn check<I: Instruction>(flat: &Flat<'_, I>, registers: &MachineEnv, output: &Output) -> Result<(), String> {
    let mut checker = Checker::new(flat, registers);
    checker.prepare(output);
    checker.run().map_err(|errors| format!("the allocation of registers is wrong: {errors:?}"))
}
