//! Bounds of the sums that an epilogue begins with.

/// Intervals of the sums of a contraction.
pub struct SumRanges {
    /// Interval of all sums, if it is known.
    pub all: Option<(i64, i64)>,
    /// Interval of each output channel's sums; empty if unknown.
    pub channels: Vec<(i64, i64)>,
}
