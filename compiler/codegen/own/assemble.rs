//! Assembly of a function over virtual registers to machine code.

use super::allocate::Flat;
use super::check::check;
use super::error::AssemblyError;
use super::function::Function;
use super::instruction::InstructionSet;
use super::layout::{Emitted, lay_out};
use super::moves::remove_moves;

/// Allocates registers for a function and emits its code.
///
/// # Errors
/// A message if the function breaks a rule of the register allocator, or if an instruction's operands do not fit. Both are bugs of the compiler.
pub fn assemble<S: InstructionSet>(set: &S, function: &Function<S::Inst>) -> Result<Emitted, AssemblyError> {
    let registers = set.registers();
    let flat = Flat::new(function, set);
    let mut output = flat.allocate(&registers)?;
    if S::REMOVES_MOVES {
        remove_moves(&flat, &mut output);
    }
    if cfg!(debug_assertions) {
        check(&flat, &registers, &output)?;
    }
    lay_out(set, &flat, &output)
}
