//! Facts of a round of a loop: which tensors count rounds, and what indices are below.

use crate::ir::{Extent, Value};
use rustc_hash::FxHashMap;

/// What is known in a round beyond the intervals of indices.
#[derive(Default)]
pub(super) struct Round {
    /// Tensors of one integer that count rounds, and the index that each is.
    pub counters: FxHashMap<Value, Value>,
    /// Indices and what each is below.
    pub below: Vec<(Value, Extent)>,
    /// Sizes that depend on the way of a branch: an index, and an extent that it is at most so much more than.
    pub ways: Vec<(Value, Extent, i64)>,
}

impl Round {
    /// The index that a tensor of one integer is.
    pub fn counter(&self, tensor: Value) -> Option<Value> {
        self.counters.get(&tensor).copied()
    }

    /// Whether there are indices that are known to be below others.
    pub fn has_limits(&self) -> bool {
        !self.below.is_empty()
    }
}
