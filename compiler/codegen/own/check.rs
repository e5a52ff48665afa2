//! Check of an allocation, by the checker of `regalloc2`. On every path, each use must read the value that its definition wrote, through all moves and
//! spills.

use super::allocate::Flat;
use super::error::AssemblyError;
use super::instruction::Instruction;
use regalloc2::checker::Checker;
use regalloc2::{MachineEnv, Output};

/// Checks an allocation.
///
/// # Errors
/// The checker's message. It is a bug of the allocator or of its input.
pub(super) fn check<I: Instruction>(flat: &Flat<'_, I>, registers: &MachineEnv, output: &Output) -> Result<(), AssemblyError> {
    let mut checker = Checker::new(flat, registers);
    checker.prepare(output);
    checker.run().map_err(|errors| AssemblyError::Allocation(format!("{errors:?}")))
}
