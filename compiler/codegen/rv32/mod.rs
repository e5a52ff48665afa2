//! Kernels to code for 32-bit RISC-V: RV32IMC with or without the extension F. `docs/wide.md` describes the common part.

mod compile;
mod driver;
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
use super::own::words::Compilers;
pub use compile::KERNELS;
#[cfg(test)]
pub use driver::compile_support;

/// Functions that compile for 32-bit RISC-V.
pub const COMPILERS: Compilers = Compilers {
    kernels: KERNELS,
    driver: driver::compile_driver,
    support: driver::compile_support,
    distance: RelocationKind::RiscvDistance,
};
