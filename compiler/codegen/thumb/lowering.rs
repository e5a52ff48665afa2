//! The state of lowering a kernel.

use super::in_vectors::InVectors;
use super::set::formats;
use crate::own::words::{factors, shared_factors};
use crate::own::{self, Block};
use cranelift_entity::EntitySet;
use modelc_kernel::{Kernel, Lane, Value};
use modelc_machine::{CpuMachine, Extension};
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// The state of lowering one kernel.
pub(super) type Lowering<'a> = own::Lowering<'a, Thumb>;

/// State of a lowering that only this instruction set has.
pub(super) struct Thumb {
    /// Formats of floats that have registers.
    pub formats: &'static [Lane],
    /// `true` if loads and stores must be at multiples of their bytes.
    pub only_aligned: bool,
    /// `true` if products take halves of words.
    pub has_halves: bool,
    /// Values that only such products use.
    pub factors: EntitySet<Value>,
    /// Pairs of halves that several products take.
    pub shared: EntitySet<Value>,
    /// Loads to vector registers.
    pub vectors: EntitySet<Value>,
    /// Values whose lanes are in vector registers.
    pub lanes: EntitySet<Value>,
    /// Vector registers of a block whose lanes are words.
    pub joined: FxHashMap<(Block, [VReg; 4]), VReg>,
    /// Vector registers of a block whose lanes have the opposite sign.
    pub negated: FxHashMap<(Block, VReg), VReg>,
    /// Halves that words of bytes became in a block.
    pub widened: FxHashMap<(Block, VReg), [VReg; 2]>,
}

impl Thumb {
    /// For a kernel on a machine.
    pub fn new(kernel: &Kernel, machine: &CpuMachine) -> Self {
        let in_vectors = InVectors::of(kernel, machine);
        let formats = formats(machine, !in_vectors.is_empty());
        let InVectors { bytes, lanes } = in_vectors;
        let has_halves = machine.has(Extension::Dsp);
        Self {
            formats,
            only_aligned: machine.only_aligned,
            has_halves,
            factors: factors(kernel),
            shared: if has_halves { shared_factors(kernel) } else { EntitySet::new() },
            lanes,
            joined: FxHashMap::default(),
            negated: FxHashMap::default(),
            vectors: bytes,
            widened: FxHashMap::default(),
        }
    }
}
