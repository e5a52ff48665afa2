//! What is known of the sums that an epilogue begins with.

/// Intervals of the sums of a contraction.
pub struct SumRanges {
    /// Of all, if it is known.
    pub all: Option<(i64, i64)>,
    /// Of those of each output channel, if they are known.
    pub channels: Vec<(i64, i64)>,
}
