//! Levels of 16-bit Thumb.

use modelc_machine::{CpuMachine, Extension};

/// The instructions of a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Level {
    /// Instructions of Armv6-M.
    Armv6,
    /// The baseline of Armv8-M, which also has divisions and constants of 16 bits.
    Armv8,
}

impl Level {
    /// Returns the level of a machine.
    pub fn of(machine: &CpuMachine) -> Self {
        if machine.has(Extension::Armv8M) { Self::Armv8 } else { Self::Armv6 }
    }
}
