//! The state of lowering a kernel.

use super::level::Level;
use crate::own;
use modelc_machine::CpuMachine;

/// The state of lowering one kernel.
pub(super) type Lowering<'a> = own::Lowering<'a, Baseline>;

/// Knowledge beside what every lowering has.
pub(super) struct Baseline {
    /// `true` in kernels, whose calls of support functions the object resolves.
    pub calls: bool,
    /// The instructions beside those of Armv6-M.
    pub level: Level,
}

impl Baseline {
    /// Makes the state for a kernel on a machine.
    pub fn new(machine: &CpuMachine) -> Self {
        Self { calls: true, level: Level::of(machine) }
    }

    /// Makes the state for a function without a kernel, which calls no support functions.
    pub fn without_kernel(machine: &CpuMachine) -> Self {
        Self { calls: false, ..Self::new(machine) }
    }
}
