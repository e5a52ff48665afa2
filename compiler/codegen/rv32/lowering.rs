//! The state of lowering a kernel.

use crate::own::words::widened;
use crate::own::{self, Block};
use cranelift_entity::EntitySet;
use modelc_kernel::{Kernel, Value};
use modelc_machine::{CpuMachine, Extension};
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// The state of lowering one kernel.
pub(super) type Lowering<'a> = own::Lowering<'a, Riscv>;

/// Knowledge beside what every lowering has.
pub(super) struct Riscv {
    /// Name of the CPU level.
    pub cpu: &'static str,
    /// Set if binary32 has registers.
    pub has_floats: bool,
    /// Loads whose elements are wanted with zeros above them.
    pub zeros: EntitySet<Value>,
    /// Registers of a block that hold numbers.
    pub numbers: FxHashMap<(Block, i32), VReg>,
}

impl Riscv {
    /// For a kernel on a machine.
    pub fn new(kernel: &Kernel, machine: &CpuMachine) -> Self {
        let has_floats = machine.has(Extension::Fpu);
        Self { cpu: machine.level, has_floats, zeros: widened(kernel), numbers: FxHashMap::default() }
    }
}
