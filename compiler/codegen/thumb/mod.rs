//! Code generation of Thumb-2 for Arm's M profile: Armv7-M with or without DSP instructions and binary32. `docs/wide.md` describes the common part.

mod access;
mod baseline;
mod compile;
mod counts;
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
use super::own::words::{Compilers, word_driver, word_support};
pub use compile::KERNELS;
use lowering::Thumb;
use modelc_kernel::Kernel;
use modelc_machine::CpuMachine;
use set::Thumb2;
#[cfg(test)]
pub use set::branch_with_link;
pub use set::has_vectors;

/// Functions that compile for Armv7-M and later. Other functions keep to the procedure call standard for Arm (AAPCS), too.
const COMPILERS: Compilers = Compilers {
    kernels: KERNELS,
    driver: |function, machine| word_driver(function, machine, &Thumb2::new(machine), Thumb::new(&Kernel::default(), machine)),
    support: |what, machine| word_support(what, machine, &Thumb2::new(machine), Thumb::new(&Kernel::default(), machine)),
    distance: RelocationKind::ThumbDistance,
};

/// Returns the functions that compile for a machine of Arm's M profile.
pub fn compilers(machine: &CpuMachine) -> Compilers {
    if baseline::is_baseline(machine) { baseline::COMPILERS } else { COMPILERS }
}
