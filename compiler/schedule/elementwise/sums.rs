//! Bounds of the sums that an epilogue begins with.

use crate::ir::Interval;

/// Intervals of the sums of a contraction.
pub struct SumRanges {
    /// Interval of all sums, if it is known.
    pub all: Option<Interval>,
    /// Interval of each output channel's sums; empty if unknown.
    pub channels: Vec<Interval>,
}
