//! The result of the passes that make a kernel compute one range.

use crate::Kernel;

/// A kernel that computes a range of rounds.
pub struct InRanges {
    /// The kernel.
    pub kernel: Kernel,
    /// Total number of rounds.
    pub rounds: u64,
}
