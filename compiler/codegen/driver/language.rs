//! The driver's language: what the functions do that C programs call, for every machine.
//!
//! It is the opposite of the kernel language: callers' pointers, structs, calls, statuses that come back. It is structured, and small
//! enough that a machine without Cranelift lowers it in a few hundred lines. A value fits one register of every machine. Pointers and
//! `size_t` are words; how long a word is, and where fields lie, the target says ([`crate::interface::Layout`]).
//!
//! A function leaves early with a status: an `int`, 0 when good. Numbers have no lines of their own but stand as operands, and have
//! the width of what they stand beside.

mod builder;
#[cfg(test)]
pub mod interpret;
pub mod text;
mod types;
pub mod verify;

pub use builder::{Builder, function};
pub use types::*;
