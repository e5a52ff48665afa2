//! Code generation: kernels and the driver that calls them, to machine code without an address yet.
//!
//! Everything here ends in [`Code`]: bytes, relocations against functions and data by number, and the stack they need. The
//! object writer and the JIT place the same [`Code`], so what is measured in memory is what an object holds.

pub mod a64;
pub mod alone;
mod arm;
pub mod back_end;
mod check;
pub mod clif;
pub mod code;
pub mod compile;
mod constants;
mod cpu;
pub mod driver;
pub mod error;
mod failure;
mod fold;
mod function;
mod gpu;
mod index;
pub mod listing;
mod own;
mod riscv64;
pub mod section;
mod select;
pub mod spirv;
pub mod support;
pub mod thumb;
pub mod vulkan;
pub mod weights;
mod written;
pub mod x86;

pub use back_end::BackEnd;
pub use code::{Code, Relocation, RelocationKind, RelocationTarget};
pub use compile::{CompiledModel, compile};
pub use constants::ConstantLayout;
pub use driver::{DriverOptions, WeightsFrom};
pub use error::CodegenError;
pub use function::CompiledFunction;
pub use written::WrittenDriver;
