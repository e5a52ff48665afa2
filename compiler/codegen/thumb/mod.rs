//! Code generation of Thumb-2 for Arm's M profile: Armv7-M with or without DSP instructions and binary32. `docs/wide.md` describes the common part.

mod access;
mod baseline;
mod compile;
mod counts;
mod driver;
mod emit;
mod encode;
mod even;
mod frame;
mod fuse;
mod in_vectors;
mod inst;
mod lanes;
mod listing;
mod lowering;
mod number;
mod ops;
mod pairs;
mod registers;
mod rounds;
mod rows;
mod select;
mod set;
mod spill;
mod stepped;
mod steps;
mod sums;
mod vectors;
mod words;

#[cfg(test)]
mod tests;

use super::RelocationKind;
use super::own::words::Compilers;
pub use compile::KERNELS;
#[cfg(test)]
pub use driver::compile_support;
#[cfg(test)]
pub use set::branch_with_link;
pub use set::has_vectors;

/// Functions that compile for Arm's M profile.
pub const COMPILERS: Compilers = Compilers {
    kernels: KERNELS,
    driver: driver::compile_driver,
    support: driver::compile_support,
    distance: RelocationKind::ThumbDistance,
};
