//! The contents that a round of a loop writes, known before it is translated.

use super::counted::Counted;
use super::effects::{effects, range_in_file};
use super::memory::{Area, ByteRange};
use super::program::{Instruction, Plan};
use super::registers::Register;
use std::collections::BTreeSet;

/// The operator that appends a row to a tensor.
const GROW: &str = "executorch_prim::et_copy_index.tensor";

/// Registers, and bytes.
#[derive(Default)]
pub struct Written {
    /// All registers.
    pub registers: BTreeSet<usize>,
    /// Registers that moves give another handle.
    pub moved: BTreeSet<usize>,
    /// Registers that grow row by row.
    pub grown: BTreeSet<usize>,
    /// The bytes that registers name.
    pub ranges: Vec<ByteRange>,
}

impl Written {
    /// Collects the effects of a loop's round, if registers hold `registers` before it.
    pub fn of(plan: &Plan, counted: &Counted, registers: &[Register]) -> Self {
        let mut written = Self::default();
        for instruction in &plan.instructions[counted.begin..counted.jump] {
            let effects = effects(plan, instruction);
            match instruction {
                Instruction::Move { to, .. } => _ = written.moved.insert(*to),
                Instruction::Kernel { operator, .. } if plan.operators[*operator] == GROW => written.grown.extend(&effects.updates),
                _ => {}
            }
            written.registers.extend(effects.defines.into_iter().chain(effects.updates));
        }
        // A move writes no bytes of the tensor that its register named before.
        for &register in written.registers.iter().filter(|&register| !written.moved.contains(register)) {
            if let Register::Tensor(handle) = &registers[register] {
                written.ranges.extend(handle.range());
            }
            written.ranges.extend(range_in_file(plan, register));
        }
        written
    }

    /// Tests whether a round writes some of the bytes.
    pub fn overlaps(&self, range: ByteRange) -> bool {
        self.ranges.iter().any(|written| written.overlaps(&range))
    }

    /// Tests whether bytes that a round wrote were foreseen, or are the own memory of a register that it writes.
    pub fn allows(&self, range: ByteRange) -> bool {
        let holds = |written: &ByteRange| written.area == range.area && written.start <= range.start && range.end <= written.end;
        self.ranges.iter().any(holds) || matches!(range.area, Area::Private(register) if self.registers.contains(&register))
    }
}
