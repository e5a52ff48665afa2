//! Interpreter of kernels: scalar and simple. Schedules, mathematics and back ends are tested against it.
//!
//! Buffers are byte vectors. Undefined behaviour of [`super::instructions`] is an error here, such as an access outside a buffer, or a shift by the
//! width or more. Otherwise it gives a noticeable value, such as the initial contents of local arrays.

mod error;
mod grid;
mod group;
pub mod lane;
mod machine;
mod memory;
mod order;
mod rounds;
mod visits;
pub mod wide;

pub use error::{ArgumentFault, InterpretError, RuleFault};
pub use grid::interpret_grid;
pub use lane::fma_toward_zero;
pub use visits::{Race, Racers};

#[cfg(test)]
mod tests;

use super::*;
use machine::{Lanes, Machine, Stop};
use memory::Memory;

/// Runs a kernel and returns its status, 0 when good.
///
/// `buffers` stand for [`Kernel::pointer_params`], in that order, each of at least `elements` times the size of its lane in bytes; `integers` are the
/// integer parameters. Lanes are little-endian in memory. The kernel should be verified: on another one the interpreter may panic.
/// The kernel must have no grid; [`interpret_grid`] runs kernels with one. Independent rounds run in a fixed order.
///
/// # Errors
/// An error for an access outside a buffer, a store to an input, a broken rule, wrong arguments, or a race of independent rounds.
pub fn interpret(kernel: &Kernel, buffers: &mut [Vec<u8>], integers: &[i64]) -> Result<i32, InterpretError> {
    interpret_shuffled(kernel, buffers, integers, 0)
}

/// Runs a kernel like [`interpret`], with independent rounds and ranges in an order drawn from a seed.
///
/// # Errors
/// The errors of [`interpret`].
pub fn interpret_shuffled(kernel: &Kernel, buffers: &mut [Vec<u8>], integers: &[i64], seed: u64) -> Result<i32, InterpretError> {
    if integers.len() != kernel.integers {
        return Err(InterpretError::Arguments {
            kernel: kernel.name.clone(),
            fault: ArgumentFault::Integers { given: integers.len(), parameters: kernel.integers },
        });
    }
    if kernel.grid.is_some() {
        return Err(InterpretError::Arguments { kernel: kernel.name.clone(), fault: ArgumentFault::Grid });
    }
    let mut machine = Machine { seed, ..Machine::new(kernel, Memory::new(kernel, buffers)?) };
    for (&param, &integer) in kernel.body.params.iter().zip(integers) {
        machine.set(param, vec![integer as u64]);
    }
    match machine.region(&kernel.body) {
        Ok(()) => Ok(0),
        Err(Stop::Status(status)) => Ok(status),
        Err(Stop::Error(error)) => Err(*error),
    }
}
