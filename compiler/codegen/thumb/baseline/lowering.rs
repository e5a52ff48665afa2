//! The state of lowering a kernel.

use super::level::Level;
use crate::own::words::widened;
use crate::own::{self, Block};
use cranelift_entity::EntitySet;
use modelc_kernel::{Kernel, Value};
use modelc_machine::CpuMachine;
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// The state of lowering one kernel.
pub(super) type Lowering<'a> = own::Lowering<'a, Baseline>;

/// Knowledge beside what every lowering has.
pub(super) struct Baseline {
    /// Name of the CPU level.
    pub cpu: &'static str,
    /// `true` in kernels, whose calls of support functions the object resolves.
    pub calls: bool,
    /// The instructions beside those of Armv6-M.
    pub level: Level,
    /// Loads whose elements need zeros above them.
    pub zeros: EntitySet<Value>,
    /// Registers of a block that hold numbers.
    pub numbers: FxHashMap<(Block, i32), VReg>,
}

impl Baseline {
    /// Makes the state for a kernel on a machine.
    pub fn new(kernel: &Kernel, machine: &CpuMachine) -> Self {
        let level = Level::of(machine);
        Self { cpu: machine.level, calls: true, level, zeros: widened(kernel), numbers: FxHashMap::default() }
    }

    /// Makes the state for a function without a kernel, which calls no support functions.
    pub fn without_kernel(machine: &CpuMachine) -> Self {
        Self { calls: false, ..Self::new(&Kernel::default(), machine) }
    }
}
