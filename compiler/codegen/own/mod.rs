//! Code generation with register allocation, over instruction sets: `docs/wide.md`.
//!
//! An instruction set lowers kernels to its instructions over virtual registers. What is here makes code of them: it drops what nothing
//! uses, allocates registers, and lays blocks, jumps and constants out.

mod allocate;
mod assemble;
mod buffer;
mod check;
mod function;
mod instruction;
mod layout;
mod tidy;

#[cfg(test)]
mod tests;

pub use assemble::assemble;
pub use buffer::Buffer;
pub use function::{Block, Edge, Function};
pub use instruction::{Flow, Instruction, InstructionSet, Need, Reach};
pub use layout::Emitted;
pub use tidy::{count_uses, sweep};
