//! Constants and variables of a program.

use crate::ir::Data;

/// Alignment of the arena, of the weights and of every constant: a cache line, and the widest vector.
pub const ALIGNMENT: u64 = 64;

/// Read-only data; aligned to [`ALIGNMENT`] in the object.
#[derive(Clone, Debug, PartialEq)]
pub struct Blob {
    /// Name in reports.
    pub name: String,
    /// Contents in the target's byte order.
    pub data: Data,
}

/// Storage that outlives a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Name in the model.
    pub name: String,
    /// Offset among the variables.
    pub offset: u64,
    /// Size.
    pub bytes: u64,
    /// The constant with its initial contents; zeros if absent.
    pub initial: Option<usize>,
}
