//! The kernels of a device in the form that its driver needs.

/// Maximum number of ranges that a kernel binds: more than any profile has.
pub const MOST_BINDINGS: usize = 16;

/// SPIR-V modules and workgroup counts of a device's kernels, in the order of the kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modules {
    /// SPIR-V of each kernel, with the entry point `main`.
    pub words: Vec<Vec<u32>>,
    /// Workgroups of each kernel, in each direction.
    pub groups: Vec<[u32; 3]>,
}
