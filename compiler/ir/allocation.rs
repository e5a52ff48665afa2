//! Memory plans that come with a model: where the exporter placed each tensor.

use super::entities::{Func, Value};

/// The plan of a whole file. The planner may keep it to the byte (`--plan program`) or take the smaller of it and its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedPlan {
    /// The plans of the methods that have planned memory.
    pub methods: Vec<ImportedMethodPlan>,
}

/// The plan of one method. Each method has memory of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedMethodPlan {
    /// The method's function.
    pub function: Func,
    /// Bytes of each memory area, by memory id. Id 0 is reserved and has no bytes.
    pub area_bytes: Vec<u64>,
    /// The places of values. A value that exists only after decomposition has no placement, and no value has two. Values whose live ranges are
    /// disjoint may overlap.
    pub placements: Vec<Placement>,
}

/// The place of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The function that the value belongs to: the method's own, or the branch of an `if` inside it.
    pub function: Func,
    /// The value.
    pub value: Value,
    /// The memory area; an index of [`ImportedMethodPlan::area_bytes`].
    pub memory_id: u32,
    /// Bytes from the area's start.
    pub offset: u64,
    /// Bytes that it takes; `offset + bytes` is inside the area.
    pub bytes: u64,
}
