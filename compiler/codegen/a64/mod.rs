//! Compilation of kernels to aarch64 code: Armv8.0-A, optionally with dot products of four bytes (`dotprod`). `docs/wide.md` describes the common
//! part.

mod arithmetic;
mod combine;
mod compile;
mod convert;
mod couple;
mod dot;
mod elements;
mod emit;
mod encode;
mod fixed;
mod fours;
mod frame;
mod general;
mod held;
mod inst;
mod listing;
mod lowering;
mod mask;
mod memory;
mod near;
mod number;
mod permute;
mod pick;
mod registers;
mod reloads;
mod rows;
mod select;
mod set;
mod starts;

#[cfg(test)]
mod tests;

pub use compile::KERNELS;
