//! Code generation: machine code, without addresses yet, for kernels and for the driver that calls them.
//!
//! Every back end returns [`Code`]: bytes, relocations against numbered functions and data, and the size of the stack. The object writer and the JIT
//! place the same [`Code`], so measurements in memory hold for objects.

pub mod a64;
pub mod alone;
mod arm;
pub mod back_end;
pub mod bug;
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
pub mod operation;
mod own;
mod riscv64;
pub mod rv32;
pub mod section;
mod select;
pub mod spirv;
pub mod support;
pub mod thumb;
pub mod unsupported;
pub mod vulkan;
pub mod weights;
mod written;
pub mod x86;

pub use back_end::BackEnd;
pub use bug::Bug;
pub use code::{Code, Relocation, RelocationKind, RelocationTarget};
pub use compile::{CompiledModel, compile};
pub use constants::ConstantLayout;
pub use driver::{DriverOptions, WeightsFrom};
pub use error::CodegenError;
pub use function::CompiledFunction;
pub use operation::Operation;
pub use unsupported::Unsupported;
pub use written::WrittenDriver;
