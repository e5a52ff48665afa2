//! Tensors that share memory.

use crate::ir::Value;

/// Two tensors that share memory, or may share it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pair {
    /// The tensor that the group reads.
    pub read: Value,
    /// The tensor that it writes in the same place.
    pub written: Value,
}
