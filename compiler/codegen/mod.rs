//! Code generation: kernels and the driver that calls them, to machine code without an address yet.
//!
//! Everything here ends in [`Code`]: bytes, relocations against functions and data by number, and the stack they need. The
//! object writer and the JIT place the same [`Code`], so what is measured in memory is what an object holds.

mod check;
pub mod clif;
pub mod code;
pub mod compile;
mod cpu;
pub mod driver;
pub mod error;
mod fold;
pub mod listing;
mod riscv64;
pub mod weights;
pub mod wide;

pub use code::{Code, Relocation, RelocationTarget};
pub use compile::{CompiledFunction, CompiledModel, ConstantLayout, compile};
pub use driver::DriverOptions;
pub use error::CodegenError;
