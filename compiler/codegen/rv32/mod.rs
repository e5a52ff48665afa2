//! Kernels to code for 32-bit RISC-V: RV32IMC with or without the extension F. `docs/wide.md` describes the common part.

mod compile;
mod emit;
mod encode;
mod frame;
mod inst;
mod jump;
mod listing;
mod lowering;
mod ops;
mod registers;
mod rows;
mod select;
mod set;
mod stepped;
mod words;

#[cfg(test)]
mod tests;

use super::RelocationKind;
use super::own::words::{Compilers, word_driver, word_support};
pub use compile::KERNELS;
use lowering::Riscv;
use set::Riscv32;

/// Functions that compile for 32-bit RISC-V. Other functions keep to the C convention (psABI) of ILP32, too.
pub const COMPILERS: Compilers = Compilers {
    kernels: KERNELS,
    driver: |function, machine| word_driver(function, machine, &Riscv32::new(machine), Riscv::new(machine)),
    support: |what, machine| word_support(what, machine, &Riscv32::new(machine), Riscv::new(machine)),
    distance: RelocationKind::RiscvDistance,
};
