//! The state of lowering a kernel.

use crate::own;
use modelc_machine::{CpuMachine, Extension};

/// The state of lowering one kernel.
pub(super) type Lowering<'a> = own::Lowering<'a, Riscv>;

/// Knowledge beside what every lowering has.
pub(super) struct Riscv {
    /// Set if binary32 has registers.
    pub has_floats: bool,
}

impl Riscv {
    /// Makes the state for a machine.
    pub fn new(machine: &CpuMachine) -> Self {
        Self { has_floats: machine.has(Extension::Fpu) }
    }
}
