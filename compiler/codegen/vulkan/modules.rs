//! What kernels of a device are to its driver.

/// The most ranges that a kernel binds: more than any profile has.
pub const MOST_BINDINGS: usize = 16;

/// The kernels of a device as its driver takes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modules {
    /// SPIR-V, whose entry point is `main`.
    pub words: Vec<Vec<u32>>,
    /// Workgroups in each direction.
    pub groups: Vec<[u32; 3]>,
}
