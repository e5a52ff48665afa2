//! Code generation for Armv6-M and the baseline of Armv8-M, with the 16-bit instructions of Thumb. Most of them only use r0 to r7, and set flags. The
//! baseline of Armv8-M has a few of 32 bits, too ([`level::Level`]).
//!
//! An operation that uses flags is one instruction here, so the allocator puts nothing between its parts.

mod apart;
mod compile;
mod emit;
mod frame;
mod inst;
mod level;
mod lowering;
mod number;
mod ops;
mod place;
mod select;
mod set;
mod spill;
mod stepped;
mod tie;
mod words;

#[cfg(test)]
mod tests;

use crate::RelocationKind;
use crate::own::KernelCompiler;
use crate::own::words::{Compilers, word_driver, word_support};
use crate::thumb::listing::text;
pub(super) use compile::compile;
use level::Level;
use lowering::Baseline;
use modelc_machine::{CpuMachine, Extension};
use set::Thumb1;

/// Functions that compile for these machines.
pub(super) const COMPILERS: Compilers = Compilers {
    kernels: KernelCompiler::new(compile, text),
    driver: |function, machine| word_driver(function, machine, &Thumb1(Level::of(machine)), Baseline::without_kernel(machine)),
    support: |what, machine| word_support(what, machine, &Thumb1(Level::of(machine)), Baseline::without_kernel(machine)),
    distance: RelocationKind::ThumbDistance,
};

/// Tests whether a machine has no other instructions than these.
pub(super) fn is_baseline(machine: &CpuMachine) -> bool {
    !machine.has(Extension::Thumb2)
}
