//! Compilation of kernels to x86-64 code with vectors of 256 bits (AVX2) or 512 bits (AVX-512): see `docs/wide.md`.

mod addends;
mod arithmetic;
mod compile;
mod convert;
mod emit;
mod encode;
mod fixed;
mod fold_loads;
mod fold_stores;
mod frame;
mod held;
mod inst;
mod length;
mod listing;
mod look_up;
mod lowering;
mod mask;
mod memory;
mod pack;
mod permute;
mod permute_bytes;
mod registers;
mod rows;
mod select;
mod set;
mod unpack;

#[cfg(test)]
mod tests;

pub use compile::KERNELS;
