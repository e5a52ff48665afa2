//! The handmade program with so many calls that small code has rows of them.

use crate::handmade;
use modelc::program::Program;

/// Calls that [`program_of_rows`] adds.
pub const MORE_CALLS: usize = 150;

/// Returns the program with so many calls that they are rows in small code. The first calls of `forward` and of `check` repeat, which does not change
/// the results. Calls of `check` fail if a number is negative.
pub fn program_of_rows() -> Program {
    let mut program = handmade::program();
    for method in program.methods.iter_mut().filter(|method| ["forward", "check"].contains(&&*method.name)) {
        let first = method.steps[0].clone();
        method.steps.splice(0..0, vec![first; MORE_CALLS]);
    }
    program
}
