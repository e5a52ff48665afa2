//! Facts in the body of a loop: tensors that count iterations, and bounds of indices.

use crate::ir::{Extent, Value};
use rustc_hash::FxHashMap;

/// Facts that hold in one iteration, besides the intervals of indices.
#[derive(Default)]
pub(super) struct Round {
    /// Tensors of one integer that count iterations, with the index for each.
    pub counters: FxHashMap<Value, Value>,
    /// Pairs of an index and an extent that it is below.
    pub below: Vec<(Value, Extent)>,
    /// Sizes that depend on a branch: an index, an extent, and the most by which the index exceeds the extent.
    pub ways: Vec<(Value, Extent, i64)>,
}

impl Round {
    /// Returns the index for a tensor that counts iterations.
    pub fn counter(&self, tensor: Value) -> Option<Value> {
        self.counters.get(&tensor).copied()
    }

    /// Tests whether some indices are known to be below others.
    pub fn has_limits(&self) -> bool {
        !self.below.is_empty()
    }
}
