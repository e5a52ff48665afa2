//! Numbers of positions.

/// Positions of a workgroup: a number that runs well on most devices, and that all of them allow.
pub const WORKGROUP: u32 = 64;

/// Maximum number of positions: they fit 65,535 workgroups in each of two dimensions, the minimum that devices allow, and 32-bit indices.
pub const MOST_POSITIONS: u64 = 1 << 30;
