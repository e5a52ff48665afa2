//! Numbers that the sequences share with the searches for their parameters.

/// Bound up to which binary32 represents every integer.
pub const MOST_EXACT: i64 = 1 << 24;

/// Binary32 number in the middle of 2²³ integers whose last place is one. Its low 16 bits are zero, so the low 16 bits of a sum with an integer are
/// the integer.
pub const ONES: f32 = 12_582_912.0;

/// Distance that results in the low 16 bits of a sum keep from the limits, so that numbers below it can be added later.
pub const ROOM: i64 = 1 << 11;

/// Maximum of a number that the constant before a shift can add to results.
pub const ROOM_ADDED: i64 = 1 << 8;
