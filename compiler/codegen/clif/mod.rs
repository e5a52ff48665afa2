//! Compilation of kernels through Cranelift: vectors of 128 bits on x86-64 and on riscv64 with V, scalars on riscv64 without V.

mod address;
mod arithmetic;
mod back_end;
mod blocks;
pub mod code;
mod compile;
mod convert;
mod dot;
pub mod driver;
mod fields;
mod fixed;
mod half;
mod held;
pub mod isa;
mod lanes;
mod lower;
mod mask;
mod memory;
mod parts;
mod permute;
mod scope;
mod shift;

pub use back_end::Cranelift;
pub use compile::{compile_kernel, listing};
pub use isa::{Optimise, isa_for};
pub use lower::lower;

#[cfg(test)]
mod tests;
