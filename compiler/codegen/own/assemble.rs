//! From a function over virtual registers to code.

use super::allocate::Flat;
use super::check::check;
use super::function::Function;
use super::instruction::InstructionSet;
use super::layout::{Emitted, lay_out};

/// Code of a function.
///
/// # Errors
/// When the function breaks a rule of the register allocator, or an instruction's operands do not fit it: a mistake of ours.
pub fn assemble<S: InstructionSet>(set: &S, function: &Function<S::Inst>) -> Result<Emitted, String> {
    let registers = set.registers();
    let flat = Flat::new(function, set);
    let output = flat.allocate(&registers)?;
    if cfg!(debug_assertions) {
        check(&flat, &registers, &output)?;
    }
    lay_out(set, &flat, &output)
}
