//! Limits of matrix products with run-time extents.

use super::first;
use crate::machine::Machine;
use std::ops::RangeInclusive;

/// Tiles of dot products.
struct Dots {
    takes: fn(&Machine) -> bool,
    /// Rows and columns.
    tile: [i64; 2],
}

const DOTS: [Dots; 2] = [
    // Sixteen sums and the operands of a step fit 32 registers. Sums that are added in place read one factor from memory.
    Dots { takes: |machine| machine.registers.count() >= 32 || machine.sums_in_place, tile: [4, 4] },
    // Products overwrite a factor, so that fused operations need copies.
    Dots { takes: |_| true, tile: [2, 4] },
];

/// Returns the rows and columns of a tile of dot products.
pub fn dots(machine: &Machine) -> [i64; 2] {
    first(&DOTS, |row| (row.takes)(machine)).tile
}

/// Tiles of sums of rows.
pub struct Outer {
    /// Sums of a tile, of one vector each: enough to keep the multipliers of a machine busy.
    pub sums: i64,
    /// Vectors of a wide block of columns. Two rows share their loads.
    pub wide: i64,
    /// Rows of the right operand in a round of the innermost loop.
    pub round: u16,
}

/// Eight sums, a wide block of columns and a factor fit 16 registers.
pub const OUTER: Outer = Outer { sums: 8, wide: 4, round: 4 };

/// Limits of panels into which columns are transposed.
pub struct Transposed {
    /// Minimum number of left rows for which a panel costs less than sums across vector lanes.
    pub fewest_rows: i64,
    /// Maximum inner extent. Longer dot products sum their lanes less often, and such panels would leave the first-level cache.
    pub longest: u64,
    /// Numbers of vector lanes for which squares are transposed in registers.
    pub lanes: RangeInclusive<u16>,
}

/// A vector of 16 columns has panels of at most 16 KiB, half of a first-level cache.
pub const TRANSPOSED: Transposed = Transposed { fewest_rows: 4, longest: 256, lanes: 4..=16 };
