//! Numbers that the sequences and the searches for their parameters share.

/// The largest integer below which all are binary32 numbers.
pub const MOST_EXACT: i64 = 1 << 24;

/// Binary32 from which up and down 2²² integers have a last place of one. Its low 16 bits are zero, so those of a sum are the integer's.
pub const ONES: f32 = 12_582_912.0;

/// Results in the low 16 bits of a sum keep away from the ends of these by this, for what is added to them later.
pub const ROOM: i64 = 1 << 11;

/// Numbers up to this can be added to results by what is added before these are shifted.
pub const ROOM_ADDED: i64 = 1 << 8;
