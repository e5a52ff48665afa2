//! Images that are cut into rows, and which rows of its operand an operator needs.

use crate::fuse::row_major;
use crate::ir::{Function, Value};
use std::ops::Range;

/// The dimension of `[1, rows, columns, channels]` that is cut.
pub const ROWS: usize = 1;

/// Which rows of its operand an operator needs.
#[derive(Clone, Copy, Debug)]
pub struct RowWindow {
    /// Taps.
    pub size: u64,
    /// Rows from one position to the next.
    pub stride: u64,
    /// Rows from one tap to the next.
    pub dilation: u64,
    /// Rows of border above the operand.
    pub low: i64,
    /// Rows of the operand.
    pub rows: u64,
    /// Rows of the result at each position.
    pub results: u64,
}

/// What an operator needs for some rows of its result.
pub struct Needs {
    /// The operand's rows.
    pub rows: Range<u64>,
    /// Rows of border that the window sees above and below the operand.
    pub border: (i64, i64),
    /// The rows of the result that come of these: at least those that are wanted.
    pub computed: Range<u64>,
}

impl RowWindow {
    /// One row for each row of the result, at the same place.
    pub fn same(rows: u64) -> Self {
        Self { size: 1, stride: 1, dilation: 1, low: 0, rows, results: 1 }
    }

    /// Groups of `of` rows, for each of which the result has a group of `results` rows.
    pub fn of_groups(rows: u64, of: u64, results: u64) -> Self {
        Self { size: of, stride: of, results, ..Self::same(rows) }
    }

    /// What some rows of the result need. `None` where the window sees only border.
    pub fn needs(&self, result: &Range<u64>) -> Option<Needs> {
        let positions = result.start / self.results..result.end.div_ceil(self.results);
        let first = i64::try_from(positions.start.checked_mul(self.stride)?).ok()? - self.low;
        let last = i64::try_from((positions.end - 1).checked_mul(self.stride)?).ok()? - self.low;
        let end = last + i64::try_from((self.size - 1).checked_mul(self.dilation)?).ok()? + 1;
        let rows = self.rows as i64;
        let seen = first.clamp(0, rows)..end.clamp(0, rows);
        (seen.start < seen.end).then(|| Needs {
            rows: seen.start as u64..seen.end as u64,
            border: ((-first).max(0), (end - rows).max(0)),
            computed: positions.start * self.results..positions.end * self.results,
        })
    }
}

/// The rows, columns and channels of an image that lies row by row.
pub fn image(function: &Function, value: Value) -> Option<[u64; 3]> {
    match row_major(function, value)?[..] {
        [1, rows, columns, channels] if rows > 0 => Some([rows, columns, channels]),
        _ => None,
    }
}
