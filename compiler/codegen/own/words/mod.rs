//! Kernels on machines whose registers hold words of 32 bits: each lane in a register, 64 bits in two. An instruction set gives the
//! operations on words ([`Ops`]), loads and stores ([`Words`]); what the instructions of kernels are made of is here.

mod arithmetic;
mod convert;
mod driver;
mod factors;
mod fixed;
mod float;
mod functions;
mod held;
mod long;
mod masks;
mod memory;
mod ops;
mod permute;
mod soft;
mod software;
mod value;

#[cfg(test)]
mod tests;

pub use driver::{Called, Driven, Entered, lower_driver};
pub use factors::factors;
pub use functions::lower_support;
pub use held::{Held, Shape};
pub use memory::widened;
pub use ops::{Half, Operand, Ops, Test, WordOp, Words};
