//! The driver language, in which the functions that C programs call are written once for every machine.
//!
//! It has what the kernel language lacks: pointers of the caller, structs, calls, and returned statuses. It is structured, and so small that a
//! lowering without Cranelift is short. A value fits into one register of every machine. Pointers and `size_t` are words. The target defines the size
//! of a word and the offsets of fields ([`modelc_interface::Layout`]).
//!
//! A function returns early with a status: an `int`, 0 when good. Constants are operands, not instructions, and have the width of the other operand.

mod builder;
#[cfg(test)]
pub mod interpret;
mod rule;
pub mod text;
mod types;
pub mod verify;

pub use builder::{Builder, function};
pub use rule::Rule;
pub use types::*;
