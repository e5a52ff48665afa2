//! Code generation for Armv6-M and the baseline of Armv8-M, with the 16-bit instructions of Thumb. Most of them only use r0 to r7, and set flags. The
//! baseline of Armv8-M has a few of 32 bits, too ([`level::Level`]).
//!
//! An operation that uses flags is one instruction here, so the allocator puts nothing between its parts.

mod apart;
mod compile;
mod driver;
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

pub(super) use compile::compile;
pub(super) use driver::{compile_driver, compile_support};
use modelc_machine::{CpuMachine, Extension};

/// Tests whether a machine has no other instructions than these.
pub(super) fn is_baseline(machine: &CpuMachine) -> bool {
    !machine.has(Extension::Thumb2)
}
