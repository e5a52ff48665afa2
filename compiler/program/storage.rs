//! Constants and variables of a program.

use modelc_ir::Data;

/// Bytes of the runtime's record at the start of the state.
pub const RECORD_BYTES: u64 = 64;

/// Read-only data; aligned as the program's memory in the object.
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
    /// `true` for a copy of a constant, which no kernel writes.
    pub is_copy: bool,
}

/// A copy of a constant in an area that the application provides beside the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The constant.
    pub constant: usize,
    /// Number of the area.
    pub area: u32,
    /// Offset there, a multiple of the program's alignment.
    pub offset: u64,
    /// Size.
    pub bytes: u64,
}
