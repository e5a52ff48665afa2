//! Code generation with register allocation, generic over instruction sets: `docs/wide.md`.
//!
//! An instruction set lowers kernels to its instructions over virtual registers. This folder makes code of them: it removes unused instructions,
//! allocates registers, and lays out blocks, jumps and constants.

mod address;
mod allocate;
mod assemble;
mod buffer;
mod check;
mod error;
mod function;
mod indices;
mod instruction;
mod invariants;
mod layout;
mod lowering;
mod moves;
mod places;
mod regions;
mod scope;
mod tidy;
mod vector;
pub mod words;

#[cfg(test)]
mod tests;

pub use address::{Access, Address, Base, Bound};
pub use assemble::assemble;
pub use buffer::Buffer;
pub use error::{AddressError, AssemblyError, Missing, NumberError, Position, RowFault};
pub use function::{Block, BlockData, Edge, Function};
pub use instruction::{Flow, Instruction, InstructionSet, Need, Reach};
pub use invariants::move_numbers;
pub use layout::Emitted;
pub use lowering::{Lowering, Select, lower};
pub use tidy::{count_uses, sweep};
pub use vector::Vector;
