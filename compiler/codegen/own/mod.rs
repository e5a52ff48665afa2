//! Code generation with register allocation, generic over instruction sets: `docs/wide.md`.
//!
//! An instruction set lowers kernels to its instructions over virtual registers. This folder makes code of them: it removes unused instructions,
//! allocates registers, and lays out blocks, jumps and constants.

mod address;
mod allocate;
mod arg;
mod assemble;
mod back_end;
mod buffer;
mod check;
mod enter;
mod error;
mod frame;
mod function;
mod indices;
mod inst;
mod instruction;
mod invariants;
mod kernels;
mod layout;
mod listing;
mod lowering;
mod moves;
mod physical;
mod places;
mod regions;
mod rows;
mod scope;
mod tidy;
mod vector;
pub mod words;

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;

pub use address::{Access, Address, Base};
pub use arg::{Arg, memory_of};
pub use assemble::assemble;
pub use back_end::LongBackEnd;
pub use buffer::Buffer;
pub use error::{AddressError, AssemblyError, Missing, NumberError, Position, RowFault};
pub use frame::{Need, StackFrame, allocatable, registers_in};
pub use function::{Block, BlockData, Edge, Function};
pub use inst::{Inst, Opcode};
pub use instruction::{Flow, Instruction, InstructionSet, Reach};
pub use kernels::{KernelCompiler, compile_kernel};
pub use layout::Emitted;
pub use lowering::{Lowering, Select};
pub use physical::{FrameBases, PhysicalAddress, number_of, register};
pub(crate) use rows::rows;
pub use tidy::{count_uses, sweep};
pub use vector::{Vector, integer, is_general};
