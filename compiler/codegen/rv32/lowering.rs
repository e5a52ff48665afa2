//! The state of lowering a kernel, and instructions with new registers for their results.

use super::inst::{Arg, Inst, Op};
use super::registers::SINGLE;
use super::rows::Row;
use crate::codegen::own::words::widened;
use crate::codegen::own::{self, Block};
use crate::kernel::{Kernel, Value};
use crate::machine::Machine;
use cranelift_entity::EntitySet;
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// The state of lowering one kernel.
pub(super) type Lowering<'a> = own::Lowering<'a, Riscv>;

/// Knowledge beside what every lowering has.
pub(super) struct Riscv {
    /// Set if binary32 has registers.
    pub has_floats: bool,
    /// Loads whose elements are wanted with zeros above them.
    pub zeros: EntitySet<Value>,
    /// Registers of a block that hold numbers.
    pub numbers: FxHashMap<(Block, i32), VReg>,
}

impl Riscv {
    /// For a kernel on a machine.
    pub fn new(kernel: &Kernel, machine: &Machine) -> Self {
        Self { has_floats: machine.fma, zeros: widened(kernel), numbers: FxHashMap::default() }
    }
}

impl Lowering<'_> {
    /// An instruction at the end of the block.
    pub fn emit(&mut self, op: Op, args: Vec<Arg>) {
        self.push(Inst { op, args });
    }

    /// An operation with a new general-purpose register before the given operands.
    pub fn defined(&mut self, op: Op, args: &[Arg]) -> VReg {
        let result = self.scalar();
        self.emit(op, [&[Arg::Def(result)], args].concat());
        result
    }

    /// A row's instruction with a new general-purpose register before the given operands.
    pub fn row(&mut self, row: &'static Row, args: &[Arg]) -> VReg {
        self.defined(Op::Row(row), args)
    }

    /// A row's instruction with a new register of binary32 before the given operands.
    pub fn float_row(&mut self, row: &'static Row, args: &[Arg]) -> VReg {
        let result = self.register(SINGLE);
        self.emit(Op::Row(row), [&[Arg::Def(result)], args].concat());
        result
    }
}
