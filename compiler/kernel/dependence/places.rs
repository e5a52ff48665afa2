//! Memory of the pointer parameters of a kernel.

/// Place of each pointer parameter: the number of its memory, and its first byte there. Different memories never overlap.
pub type Places = Vec<(usize, u64)>;

/// Puts each of `parameters` pointer parameters into a memory of its own.
pub fn apart(parameters: usize) -> Places {
    (0..parameters).map(|number| (number, 0)).collect()
}
